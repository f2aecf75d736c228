/**
 * deploy/: what each machine of a cluster starts, by the script itself, and manifests whose parts name each other
 * rightly. Where kubectl or Python's kubernetes-validate are installed, they read the manifests too.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { main } from '../../cli/program.ts';
import { fakeIo } from '../cli/support/fakeIo.ts';
import { temporaryFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';

const temporary = temporaryFolder();
afterAll(() => temporary.remove());

const given = {
  ...{ MODEL: '/models/policy', QUESTIONS: '/q.jsonl', SHARED: '/shared' },
  ...{ MILLRACE_SERVER_KEY: 'secret-key', PATH: process.env.PATH, TMPDIR: temporary.path },
};

/** The commands that a machine would run. */
function commands(env: Readonly<Record<string, string>>): readonly string[] {
  const all = { ...given, ...env, DRY_RUN: '1' };
  const text = execFileSync('deploy/node.sh', { env: all, encoding: 'utf8' });
  return text.replaceAll('\\', '').split(' \n').slice(0, -1);
}

describe('deploy/node.sh', () => {
  test('on one machine, some GPUs generate and the others train', () => {
    const [policy, trainer, job] = commands({ NODES: 'a', TRAIN_GPUS: '2' });
    expect(policy).toMatch(
      /^env CUDA_VISIBLE_DEVICES=0,1,2,3,4,5 vllm serve .*--data-parallel-size 6 /,
    );
    expect(trainer).toMatch(
      /^env CUDA_VISIBLE_DEVICES=6,7 torchrun --standalone --nproc-per-node 2 /,
    );
    expect(job).toContain('--set engine.urls=http://a:8000 ');
    expect(job).toContain('--set trainer.url=http://a:8500 ');
  });

  test('on four, those that sort first train, and the first of them runs the job', () => {
    const machines = ['n10', 'n9', 'n1', 'n2'];
    const of = (NODE: string) => commands({ NODES: machines.join(' '), NODE });
    const [trainer, job] = of('n1');
    expect(trainer).toMatch(
      /torchrun --nnodes 2 .*--rdzv-endpoint n1:29500 .*--local-addr n1 --nproc-per-node 8 /,
    );
    expect(job).toContain('--set engine.urls=http://n2:8000,http://n9:8000 ');
    expect(of('n10')).toEqual([trainer!.replace('--local-addr n1 ', '--local-addr n10 ')]);
    expect(of('n2')).toHaveLength(1);
    expect(of('n9')[0]).toMatch(/^env CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 vllm serve /);
  });

  test('gives the job existing options and settings, and shows no key', async () => {
    const all = commands({ NODES: 'a' });
    expect(all.join('\n')).not.toContain('secret-key');
    const words = all.at(-1)!.split(' ').slice(1);
    const io = fakeIo(process.cwd());
    const code = await main([...words, '--show-settings'], io);
    expect([code, ...io.stderr()]).toEqual([0]);
  });

  test('names the variable that is missing', () => {
    const { status, stderr } = spawnSync('deploy/node.sh', {
      env: { ...given, MODEL: '' },
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('MODEL: names the folder of the policy'),
    ]);
  });

  test('a signal to any machine ends the job, then the servers, and the run is saved', async () => {
    const bin = join(temporary.path, 'bin');
    const shared = join(temporary.path, 'shared');
    mkdirSync(bin);
    const stays = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
    for (const name of ['vllm', 'torchrun', 'millrace']) {
      const does = name === 'millrace' ? 'mkdir -p "$6/$4" && echo step > "$6/$4/records"' : ':';
      writeFileSync(
        join(bin, name),
        `#!/usr/bin/env bash\n${does}\ntouch "${temporary.path}/${name}.up"\n${stays}\n`,
      );
      chmodSync(join(bin, name), 0o755);
    }
    const env = { ...given, SHARED: shared, PATH: `${bin}:${process.env.PATH}`, NODES: 'a b' };
    const machines = ['a', 'b'].map((NODE) =>
      spawn('deploy/node.sh', { env: { ...env, NODE }, stdio: 'ignore' }),
    );
    const ended = machines.map((one) => new Promise((done) => one.on('exit', done)));
    await until(() =>
      ['vllm', 'torchrun', 'millrace'].every((name) =>
        existsSync(join(temporary.path, `${name}.up`)),
      ),
    );
    machines[1]!.kill('SIGTERM');
    expect(await Promise.all(ended)).toEqual([0, 0]);
    expect(readFileSync(join(shared, 'saved/live/records'), 'utf8')).toBe('step\n');
    const left = spawnSync('pgrep', ['-f', bin], { encoding: 'utf8' });
    if (left.error === undefined) await until(() => spawnSync('pgrep', ['-f', bin]).status === 1);
  }, 60_000);
});

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly selector?: Readonly<Record<string, unknown>>;
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly volumeMounts: readonly { readonly name: string }[];
        }[];
        readonly volumes: readonly {
          readonly name: string;
          readonly persistentVolumeClaim?: { readonly claimName: string };
        }[];
      };
    };
  };
}

const base = 'deploy/kubernetes/base';
const { resources } = parse(readFileSync(join(base, 'kustomization.yaml'), 'utf8')) as {
  readonly resources: readonly string[];
};
const manifests = resources.flatMap((file) =>
  parseAllDocuments(readFileSync(join(base, file), 'utf8')).map((one) => one.toJS() as Manifest),
);
const named = (kind: string) =>
  manifests.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);

describe('deploy/kubernetes', () => {
  test('lists every file of its folder', () => {
    const files = readdirSync(base).filter((file) => !/^(kustomization|settings)/.test(file));
    expect([...resources].sort()).toEqual(files.sort());
  });

  test('mounts volumes that exist, and services select pods that exist', () => {
    const pods = manifests.flatMap(({ spec }) => (spec?.template ? [spec.template] : []));
    for (const { spec } of pods) {
      const own = spec.volumes.map(({ name }) => name);
      for (const { volumeMounts } of spec.containers)
        for (const { name } of volumeMounts) expect(own).toContain(name);
      for (const { persistentVolumeClaim: claim } of spec.volumes)
        if (claim) expect(named('PersistentVolumeClaim')).toContain(claim.claimName);
    }
    for (const { kind, spec } of manifests) {
      if (kind !== 'Service') continue;
      expect(pods.map(({ metadata }) => metadata.labels.app)).toContain(spec?.selector?.app);
    }
  });

  test.each(['base', 'four-nodes'])(
    'the settings of %s are valid, and name its services',
    async (of) => {
      const file = `deploy/kubernetes/${of}/settings.yaml`;
      const io = fakeIo(process.cwd());
      const code = await main(['run', 'et-agent', '--settings', file, '--show-settings'], io);
      expect([code, ...io.stderr()]).toEqual([0]);
      const hosts = [...readFileSync(file, 'utf8').matchAll(/http:\/\/([\w.-]+):(\d+)/g)];
      expect(hosts).not.toEqual([]);
      for (const [, host] of hosts) expect(named('Service')).toContain(host!.split('.').at(-1));
    },
  );

  test('gives the job and its workers existing options', async () => {
    const io = fakeIo(process.cwd());
    await main(['run', '--help'], io);
    for (const name of ['job', 'workers']) {
      const { spec } = manifests.find((one) => one.metadata.name === name && one.spec?.template)!;
      const flags = spec!.template!.spec.containers[0]!.args.filter((word) =>
        word.startsWith('--'),
      );
      for (const flag of flags) expect(io.stdout()).toContain(`${flag.split('=')[0]} `);
    }
  });

  const kubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0;
  (kubectl ? test : test.skip)('is built by kubectl (skipped where it is not installed)', () => {
    for (const overlay of ['one-node', 'four-nodes']) {
      const built = spawnSync('kubectl', ['kustomize', `deploy/kubernetes/${overlay}`], {
        encoding: 'utf8',
      });
      expect([built.status, built.stderr]).toEqual([0, '']);
      const file = join(temporary.path, `${overlay}.yaml`);
      writeFileSync(file, built.stdout);
      const checked = spawnSync('kubernetes-validate', ['--strict', '--quiet', '--no-warn', file], {
        encoding: 'utf8',
      });
      if (checked.error === undefined) expect([checked.status, checked.stdout]).toEqual([0, '']);
    }
  });
});

test('deploy/: shellcheck finds nothing (if it is installed)', () => {
  const found = spawnSync('shellcheck', ['deploy/node.sh', 'deploy/slurm/millrace.sbatch'], {
    encoding: 'utf8',
  });
  if (found.error === undefined) expect(found.stdout).toBe('');
});
