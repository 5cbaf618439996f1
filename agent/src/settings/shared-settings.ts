import { z } from 'zod'
import type { AgentOptions } from './agent-options.ts'
import { cpuLimit, memoryLimit, onOff, oneOf, webAddress, wholeNumber } from './schemas.ts'
import type { Settings, Values } from './setting.ts'

/** Settings of both stand-alone and built-in agents. */
export const SHARED_SETTINGS = {
  enginePath: {
    value: '<path>',
    schema: z.string().optional(),
    doc: 'a terraform or tofu binary for the agent, or a directory of them, which comes before the PATH',
    shown: 'found on the PATH',
  },
  engineDownloads: {
    value: 'on|off',
    schema: onOff.default(false),
    doc: 'whether the agent downloads engines that are not here, their signatures checked',
  },
  terraformMirror: {
    value: '<address>',
    schema: webAddress.default('https://releases.hashicorp.com'),
    doc: 'where the agent downloads Terraform from',
  },
  opentofuMirror: {
    value: '<address>',
    schema: webAddress.default('https://github.com/opentofu/opentofu/releases/download'),
    doc: 'where the agent downloads OpenTofu from',
  },
  engineKeyFile: {
    value: '<file>',
    schema: z.string().optional(),
    doc: 'PGP public keys trusted to sign downloads, in addition to those of HashiCorp and OpenTofu',
    file: {
      begin: '-----BEGIN PGP PUBLIC KEY BLOCK-----',
      what: 'PGP public key in the armored format',
      usedWith: 'engineDownloads',
    },
  },
  isolation: {
    value: 'auto|user|off',
    schema: oneOf(['auto', 'user', 'off']).default('auto'),
    doc: 'whether each run executes as a dedicated user: `auto` where possible, `user` always, or `off`',
  },
  firstRunUser: {
    value: '<id>',
    schema: wholeNumber(1_000, 2 ** 31 - 65_537).optional(),
    doc: 'first of the 65536 user and group ids that agents of this machine share out to runs',
    shown: '1900000000',
  },
  sandbox: {
    isSwitch: true,
    schema: onOff.default(false),
    doc: 'whether runs execute in a sandbox of bubblewrap, which must be installed',
  },
  memoryLimit: {
    value: '<size>',
    schema: memoryLimit.optional(),
    doc: 'memory that a program of a run may take, such as `2g`',
    shown: 'none',
  },
  cpuLimit: {
    value: '<number>',
    schema: cpuLimit.optional(),
    doc: 'processors that a program of a run may take, such as `1.5`',
    shown: 'none',
  },
  pidsLimit: {
    value: '<number>',
    schema: wholeNumber(64, 4_194_304).optional(),
    doc: 'processes and threads that a run may have',
    shown: '4096 where runs have users of their own, none otherwise',
  },
  hooks: {
    value: '<directory>',
    schema: z.string().optional(),
    doc: 'directory of programs that the agent runs around plans and applies: pre-plan, post-plan, pre-apply, post-apply',
    shown: 'none',
  },
} as const satisfies Settings

/** Each kind of agent has its own default. */
export const CONCURRENCY = {
  value: '<number>',
  schema: wholeNumber(1, 256),
  doc: 'runs that the agent executes at the same time',
} as const

/** The shared settings as options of an agent. */
export function sharedOptions(values: Values<typeof SHARED_SETTINGS> & { concurrency: number }) {
  const { concurrency, enginePath, isolation, firstRunUser, sandbox, hooks } = values
  return {
    concurrency,
    enginePath,
    engineDownloads: values.engineDownloads
      ? {
          mirrors: { terraform: values.terraformMirror, tofu: values.opentofuMirror },
          keyFile: values.engineKeyFile,
        }
      : undefined,
    isolation,
    firstRunUser,
    sandbox,
    hooks,
    limits: { memory: values.memoryLimit, cpu: values.cpuLimit, pids: values.pidsLimit },
  } satisfies Partial<AgentOptions>
}
