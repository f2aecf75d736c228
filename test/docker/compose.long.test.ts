/**
 * docker/compose.yaml, its settings, its `.env.example`, the command line and the docs say the same: what one
 * names, the others have. Where a Compose is installed, it reads the file too.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { main } from '../../cli/program.ts';
import { fakeIo } from '../cli/support/fakeIo.ts';
import { builtMillrace, ROOT } from '../support/commandLine.ts';

interface Service {
  readonly profiles?: readonly string[];
  readonly image: string;
  readonly build?: object;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly restart?: string;
  readonly healthcheck?: unknown;
  readonly deploy?: {
    readonly resources?: {
      readonly limits?: object;
      readonly reservations?: { readonly devices: readonly object[] };
    };
  };
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}
interface Settings {
  readonly policy?: string;
  readonly questions?: string;
  readonly promptMax?: number;
  readonly responseMax?: number;
  readonly engine?: Readonly<Record<string, string>>;
  readonly tools?: { readonly search?: Readonly<Record<string, string>> };
  readonly trainer?: Readonly<Record<string, string | number>>;
  readonly critic?: Readonly<Record<string, string>>;
  readonly analyst?: Readonly<Record<string, string>>;
}

const text = readFileSync('docker/compose.yaml', 'utf8');
const compose: Compose = parse(text, { merge: true });
const services = Object.entries(compose.services);
const engine = compose.services.engine!;
const example = readFileSync('docker/.env.example', 'utf8');
const docs = readFileSync('docs/deploy.md', 'utf8');
const settingsFiles = readdirSync('docker/settings');
const settingsOf = (file: string): Settings =>
  parse(readFileSync(`docker/settings/${file}`, 'utf8'));
const all = settingsFiles.map((file) => [file, settingsOf(file)] as const);
/** Those that run a policy of the user's. */
const served = all.filter(([, { policy }]) => policy !== undefined);
const profiles = [...new Set(services.flatMap(([, { profiles: own = [] }]) => own))];
/** Variables, each with its default. */
const variables = new Map(
  [...text.matchAll(/\$\{(\w+):-([^}]*)\}/g)].map(([, name, value]) => [name!, value!]),
);

/** What a service's command gives an option. */
function option({ command = [] }: Service, name: string): string | undefined {
  const at = command.indexOf(name);
  return at === -1 ? undefined : filled(command[at + 1] ?? '');
}

const filled = (value: string): string => value.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

describe('compose.yaml', () => {
  test('restarts its services, bounds their logs, and publishes ports on this machine alone', () => {
    for (const [name, service] of services) {
      expect([name, service.restart]).toEqual([
        name,
        expect.stringMatching(/^(on-failure:3|unless-stopped)$/),
      ]);
      expect(service).toHaveProperty('logging.options.max-size');
      // What it may take: processors and memory, or a GPU of its own.
      const { limits, reservations } = service.deploy?.resources ?? {};
      if (reservations === undefined)
        expect(limits).toEqual({ cpus: expect.anything(), memory: expect.anything() });
      else expect(reservations.devices).toMatchObject([{ capabilities: ['gpu'] }]);
      // The image of the engine brings its own.
      if (!/^(engine|worker)$/.test(name)) expect(service).toHaveProperty('healthcheck.test');
      for (const port of service.ports ?? [])
        expect(port).toMatch(/^\$\{MILLRACE_BIND:-127\.0\.0\.1\}:/);
      // An image is of one version, so that it is the same tomorrow.
      expect(filled(service.image)).toMatch(/:v?\d+\.\d+/);
    }
  });

  test('names volumes that it has, and no secret', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((one) => filled(one).split(':')[0]!),
    );
    const named = mounted.filter((from) => !from.startsWith('.') && !from.startsWith('/'));
    expect(new Set(named)).toEqual(new Set(Object.keys(compose.volumes)));
    for (const [, { environment = {} }] of services) {
      for (const [key, value] of Object.entries(environment)) {
        if (/KEY|PASSWORD|TOKEN/.test(key)) expect(value).toMatch(/^\$\{\w+:-(admin)?\}$/);
      }
    }
  });

  test('has exactly the variables of .env.example, with their defaults', () => {
    const listed = new Map(
      [...example.matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
    );
    expect([...listed.keys()].sort()).toEqual([...variables.keys()].sort());
    for (const [name, value] of listed) expect([name, value]).toEqual([name, variables.get(name)]);
    // One default for each, wherever it is.
    for (const [, name, value] of text.matchAll(/\$\{(\w+):-([^}]*)\}/g)) {
      expect([name, value]).toEqual([name, variables.get(name!)]);
    }
  });

  test('builds the images that no registry has, without sending model folders to the builder', () => {
    const ignored = readFileSync('.dockerignore', 'utf8').split('\n');
    for (const folder of ['policy', 'judge', 'questions'])
      expect(ignored).toContain(`docker/${folder}`);
    for (const [, { image, build }] of services)
      expect(build === undefined).toBe(!/^millrace/.test(filled(image)));
  });

  test('starts the retriever with existing options', async () => {
    const io = fakeIo(process.cwd());
    const { retriever } = compose.services;
    await main([...retriever!.command!.slice(0, 2), '--help'], io);
    const flags = retriever!.command!.filter((word) => word.startsWith('--'));
    for (const flag of flags) expect(io.stdout()).toContain(`${flag} `);
    expect(Object.keys(retriever!.environment!)).toEqual(['MILLRACE_RETRIEVER_TOKEN']);
  });

  test('gives the engine an existing job with existing options', async () => {
    const io = fakeIo(process.cwd());
    await main(['run', '--help'], io);
    const flags = engine.command!.filter((word) => word.startsWith('--'));
    for (const flag of flags) expect(io.stdout()).toContain(`${flag} `);
    await main(['run', '--list'], io);
    expect(io.stdout()).toContain(variables.get('MILLRACE_JOB')!);
    expect(settingsFiles).toContain(variables.get('MILLRACE_SETTINGS'));
  });

  test('is described in docs/deploy.md, profile by profile and service by service', () => {
    for (const [name, { profiles = [] }] of services) {
      expect(docs).toContain(`\`${name}\``);
      for (const profile of profiles) expect(docs).toContain(`\`${profile}\``);
    }
    for (const file of settingsFiles) expect(docs).toContain(`\`${file}\``);
  });

  test('is scraped for metrics at its services', () => {
    const { scrape_configs } = parse(readFileSync('docker/prometheus/prometheus.yml', 'utf8')) as {
      scrape_configs: readonly {
        readonly static_configs: readonly { readonly targets: readonly string[] }[];
      }[];
    };
    const targets = scrape_configs.flatMap((one) => one.static_configs.flatMap((on) => on.targets));
    expect(targets).toContain(`engine:${option(engine, '--metrics-port')}`);
    for (const target of targets) {
      const host = target.split(':')[0]!;
      if (host !== 'localhost') expect(Object.keys(compose.services)).toContain(host);
    }
  });

  const composer = [['docker', 'compose'], ['docker-compose']].find(
    ([command, ...more]) => spawnSync(command!, [...more, 'version']).status === 0,
  );
  (composer === undefined ? test.skip : test)('is read by the Compose of this machine', () => {
    const [command, ...more] = composer!;
    // Version 1 knows no name of a project.
    const input = text.replace(/^name: .*$/m, '');
    const env = { ...process.env, COMPOSE_PROFILES: profiles.join() };
    const args = [...more, '--project-directory', 'docker', '-f', '-', 'config', '-q'];
    const { status, stderr } = spawnSync(command!, args, { input, env, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe('the settings file of a container', () => {
  test.each(all)('%s is valid for its job', async (file, { policy }) => {
    const job = policy === undefined ? 'quickstart' : 'et-agent';
    const given = ['--settings', `docker/settings/${file}`, '--show-settings'];
    const { code, err } = await builtMillrace(ROOT, 'run', job, ...given).ended;
    expect([code, err]).toEqual([0, '']);
  });

  test.each(served)('%s names existing servers and folders', (_, settings) => {
    const {
      policy,
      questions,
      engine: at = {},
      trainer = {},
      critic = {},
      analyst = {},
    } = settings;
    const search = settings.tools?.search ?? {};
    const asked = [at.urls, trainer.url, critic.url, analyst.url, search.url];
    const urls = asked.filter((url) => url !== undefined);
    expect(urls).not.toEqual([]);
    for (const url of urls) {
      const { hostname, port } = new URL(String(url));
      expect(option(compose.services[hostname]!, '--port')).toBe(port);
    }
    const inside = engine.volumes!.map((volume) => filled(volume).split(':')[1]!);
    for (const path of [policy, questions, at.share].filter((one) => one !== undefined)) {
      expect(inside.filter((folder) => path.startsWith(folder))).toHaveLength(1);
    }
    for (const key of [at.keyEnv, trainer.keyEnv, critic.keyEnv, analyst.keyEnv, search.keyEnv]) {
      if (key !== undefined) expect(Object.keys(engine.environment!)).toContain(key);
    }
  });

  test.each(served)('%s asks servers for no more than they allow', (_, settings) => {
    const { policy: policyServer, trainer: service, judge } = compose.services;
    const { engine: at = {}, trainer = {}, critic = {} } = settings;
    const context = settings.promptMax! + settings.responseMax!;
    expect(context).toBeLessThanOrEqual(Number(option(policyServer!, '--max-model-len')));
    const rank = Number(trainer.adapterRank ?? trainer.rank);
    expect(rank).toBeGreaterThan(0);
    expect(rank).toBeLessThanOrEqual(Number(option(policyServer!, '--max-lora-rank')));
    if (at.model !== undefined) expect(at.model).toBe(option(policyServer!, '--served-model-name'));
    if (critic.model !== undefined)
      expect(critic.model).toBe(option(judge!, '--served-model-name'));
    if (trainer.baseModel !== undefined) {
      expect(trainer.baseModel).toBe(option(service!, '--model'));
    }
    // Servers read new weights where the engine writes them.
    if (at.share !== undefined) expect(policyServer!.volumes).toContain(`share:${at.share}:ro`);
  });
});
