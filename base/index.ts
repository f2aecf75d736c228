/** What every room stands on: errors, clocks, keyed draws, secrets, files, workers. */
export { type Clock, systemClock } from './clock.ts';
export { copies } from './copies.ts';
export { crc32, crc32c } from './crc32.ts';
export { withinDeadline } from './deadline.ts';
export { type DrawKey, type Draws, draws, shuffled } from './draws.ts';
export { eitherSignal } from './eitherSignal.ts';
export { hasCode, MillraceError, messageOf } from './errors.ts';
export { freshName } from './freshName.ts';
export {
  type Leftover,
  leftoversIn,
  leftoversText,
  removeLeftovers,
  scratchName,
  unfinished,
} from './leftovers.ts';
export { LruCache } from './lruCache.ts';
export { canWrite, makeFolder } from './makeFolder.ts';
export { areNamed, HOSTS_VARIABLE, nameHosts } from './namedHosts.ts';
export type { Outage, Report } from './outage.ts';
export { outsideText } from './outsideText.ts';
export { placeSetting } from './placeSetting.ts';
export { orAborted, raceAbort } from './raceAbort.ts';
export { RateLimit } from './rateLimit.ts';
export { replaceFile } from './replaceFile.ts';
export { keepLogin, keepSecret, newSecret, withoutSecrets } from './secrets.ts';
export { Semaphore } from './semaphore.ts';
export { every, later, type SleepClock, sleepClock } from './sleepClock.ts';
export {
  commandLineOf,
  endByInterrupt,
  halfOfThem,
  isRunning,
  machine,
  ownBytes,
  residentBytes,
  startOf,
  stopSignals,
  syncFolder,
} from './system/platform.ts';
export { about, mustHaveRoom, systemCode, systemMessage, writingTo } from './system/systemError.ts';
export { thrownBy, thrownByUser } from './thrownBy.ts';
export { Moved, serve, startWorker, threadOn, type WorkerHandle, workerEntry } from './worker.ts';
