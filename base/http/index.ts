/** HTTP as both sides need it: bounded requests, servers that refuse strangers, outages. */
export { Absence, type AbsenceOptions, wholeSeconds } from './absence.ts';
export { admit, isLoopback, sameText } from './admit.ts';
export { apiKey } from './apiKey.ts';
export { BodyReader } from './bodyReader.ts';
export { Exchange, type HttpReply, type HttpRequest, isRedirect, NoReply } from './exchange.ts';
export { keylessAddress, keylessHeader } from './keyless.ts';
export { type Listening, listenOn } from './listenOn.ts';
export { answersNaN, complainsOfNaN, holdsNaN } from './notFinite.ts';
export { postedBody } from './postedBody.ts';
export { isPublicAddress, isPublicHost, publicLookup } from './publicAddress.ts';
export { Refusal, refuse, sendJson } from './refusal.ts';
export { retryAfterMs } from './retryAfter.ts';
export { saidIn } from './said.ts';
export { sendDirect } from './sendDirect.ts';
export {
  type AddressWords,
  addressSetting,
  keyIn,
  MODEL_SERVER,
  serverAddress,
  serverAddresses,
  TRAINING_SERVICE,
} from './serverAddress.ts';
