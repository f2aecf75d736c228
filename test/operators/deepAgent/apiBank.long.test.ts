/** Classes in the form of API-Bank's release, in the real Python sandbox. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type ApiBank,
  apiBankTools,
  isApiBank,
  readApiBank,
} from '../../../operators/deepAgent/tools/apiBank.ts';
import { pythonTool } from '../../../operators/tools/python/pythonTool.ts';
import type { Tool } from '../../../operators/tools/tool.ts';
import { temporaryFolder } from '../../support/folder.ts';

const folder = temporaryFolder();
const python = pythonTool({ timeoutMs: 60_000, outputMax: 20_000 });
afterAll(async () => {
  await python.close();
  await folder.remove();
});

const signal = new AbortController().signal;
const apis = join(folder.path, 'apis');
const files = {
  api: `class API:
    def __init__(self, *args, **kwargs):
        pass
`,
  check_token: `from apis.api import API

class CheckToken(API):
    description = "Checks a token."
    input_parameters = {"token": {"type": "str", "description": "The token."}}
    database_name = "Account"

    def __init__(self, init_database=None, token_checker=None) -> None:
        self.database = init_database if init_database != None else {}

    def check_token(self, token: str) -> str:
        for user, account in self.database.items():
            if account["token"] == token:
                return user
        raise Exception("The token is invalid.")

    def call(self, token: str) -> dict:
        return {"api_name": "CheckToken", "input": {"token": token}, "output": self.check_token(token), "exception": None}
`,
  alarms: `from .api import API
import datetime

class AddAlarm(API):
    description = "Sets an alarm."
    input_parameters = {
        "token": {"type": "str", "description": "User's token."},
        "time": {"type": "str", "description": "Format: %H:%M"},
        "count": {"type": "int", "description": "How often."},
    }
    output_parameters = {"status": {"type": "str", "description": "success or failed"}}
    database_name = "Alarm"

    def __init__(self, init_database=None, token_checker=None) -> None:
        self.database = init_database if init_database != None else {}
        self.token_checker = token_checker

    def call(self, token: str, time: str, count: int = 1) -> dict:
        given = {"token": token, "time": time}
        print("noise")
        try:
            datetime.datetime.strptime(time, "%H:%M")
            user = self.token_checker.check_token(token)
            self.database.setdefault(user, []).append(time)
        except Exception as e:
            return {"api_name": "AddAlarm", "input": given, "output": None, "exception": str(e)}
        return {"api_name": "AddAlarm", "input": given, "output": "success", "exception": None}


class QueryAlarms(API):
    description = "Lists alarms."
    input_parameters = {"token": {"type": "str", "description": "User's token."}}
    database_name = "Alarm"

    def __init__(self, init_database=None, token_checker=None) -> None:
        self.database = init_database
        self.token_checker = token_checker

    def call(self, token: str) -> dict:
        return {"output": self.database.get(self.token_checker.check_token(token), []), "exception": None}
`,
  searcher: `from apis.api import API
from sentence_transformers import SentenceTransformer

class Searcher(API):
    description = "Searches."
    input_parameters = {"keywords": {"type": "list", "description": "What."}}

    def call(self, keywords: list) -> dict:
        return {"output": 1, "exception": None}
`,
};

let bank: ApiBank;
let tools: ReadonlyMap<string, Tool>;

beforeAll(async () => {
  mkdirSync(apis);
  mkdirSync(join(folder.path, 'init_database'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(apis, `${name}.py`), text);
  const json = (name: string, value: object): void =>
    writeFileSync(join(folder.path, 'init_database', `${name}.json`), JSON.stringify(value));
  json('Account', { ada: { token: 't-1' }, bob: { token: 't-2' } });
  json('Alarm', { bob: ['06:00'] });
  bank = await readApiBank(apis, python);
  tools = new Map(apiBankTools(bank, python).map((tool) => [tool.name, tool]));
});

const call = async (name: string, given: object, rolloutId: string) => {
  const { output, ok } = await tools.get(name)!.run(JSON.stringify(given), signal, { rolloutId });
  const { result, error, success } = JSON.parse(output) as Record<string, unknown>;
  expect(success).toBe(ok);
  return error ?? result;
};

test('API-Bank’s classes are functions with the arguments that their calls need', async () => {
  expect([
    await isApiBank(apis),
    await isApiBank(join(apis, 'api.py')),
    await isApiBank('nowhere'),
  ]).toEqual([true, false, false]);
  expect(bank.docs.map(({ name }) => name)).toEqual([
    'AddAlarm',
    'QueryAlarms',
    'CheckToken',
    'Searcher',
  ]);
  expect(bank.docs[0]).toEqual({
    name: 'AddAlarm',
    description: 'Sets an alarm.',
    parameters: {
      type: 'object',
      properties: {
        token: { type: 'string', description: "User's token." },
        time: { type: 'string', description: 'Format: %H:%M' },
        count: { type: 'integer', description: 'How often.' },
      },
      required: ['token', 'time'],
    },
  });
});

test('what a rollout changes it finds again, and no other rollout does', async () => {
  const [one, other] = ['q/explore-0/0', 'q/explore-0/1'] as const;
  expect(await call('AddAlarm', { token: 't-1', time: '07:30' }, one)).toBe('success');
  expect(await call('QueryAlarms', { token: 't-1' }, other)).toEqual([]);
  expect(await call('AddAlarm', { token: 't-1', time: 'noon' }, one)).toMatch(
    /does not match format/,
  );
  expect(await call('AddAlarm', { token: 't-1', time: '08:00' }, one)).toBe('success');
  expect(await call('QueryAlarms', { token: 't-1' }, one)).toEqual(['07:30', '08:00']);
  expect(await call('QueryAlarms', { token: 't-2' }, one)).toEqual(['06:00']);
  tools.get('AddAlarm')!.end!(one);
  expect(await call('QueryAlarms', { token: 't-1' }, one)).toEqual([]);
});

test('what goes wrong in a class is the answer of its call', async () => {
  expect(await call('QueryAlarms', { token: 'none' }, 'q/explore-0/2')).toBe(
    'Exception: The token is invalid.',
  );
  expect(await call('QueryAlarms', { other: 1 }, 'q/explore-0/2')).toMatch(/^TypeError/);
  expect(await call('Searcher', { keywords: [] }, 'q/explore-0/2')).toMatch(/^ModuleNotFoundError/);
});

test('a folder that has no such class, or a broken database, is refused by name', async () => {
  const bare = join(folder.path, 'bare');
  mkdirSync(join(bare, 'init_database'), { recursive: true });
  writeFileSync(join(bare, 'a.py'), 'x = 1');
  await expect(readApiBank(bare, python)).rejects.toMatchObject({
    ...{ code: 'TOOL_LIBRARY', message: expect.stringMatching(/bare: has no class/) },
  });
  writeFileSync(join(bare, 'b.py'), 'def');
  await expect(readApiBank(bare, python)).rejects.toThrow(/b\.py cannot be read.*SyntaxError/);
  writeFileSync(join(bare, 'init_database', 'x.json'), '{');
  await expect(readApiBank(bare, python)).rejects.toThrow(/x\.json is not JSON/);
});
