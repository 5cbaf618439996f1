import { z } from 'zod'
import type { AgentOptions } from './agent-options.ts'
import { byteSize, cpuLimit, memoryLimit, onOff, oneOf, providerMirrors, webAddress, wholeNumber } from './schemas.ts'
import type { Settings, Values } from './setting.ts'

/** Default maximum disk space of directories that wait for their apply, in bytes. */
export const PLAN_DIRECTORY_LIMIT = 5 * 1024 ** 3

/** Settings of both standalone and built-in agents. */
export const SHARED_SETTINGS = {
  enginePath: {
    value: '<path>',
    schema: z.string().optional(),
    doc: 'terraform or tofu binary for the agent, or a directory of them, searched before the PATH',
    shown: 'the PATH',
  },
  engineDownloads: {
    value: 'on|off',
    schema: onOff.default(false),
    doc: 'whether the agent downloads missing engines and OPA, and verifies them',
  },
  terraformMirror: {
    value: '<address>',
    schema: webAddress.default('https://releases.hashicorp.com'),
    doc: 'source of Terraform downloads',
  },
  opentofuMirror: {
    value: '<address>',
    schema: webAddress.default('https://github.com/opentofu/opentofu/releases/download'),
    doc: 'source of OpenTofu downloads',
  },
  providerMirror: {
    value: '<sources>',
    schema: providerMirrors.optional(),
    doc: 'sources of providers instead of their registries, separated by commas: https addresses of network mirrors, directories, and `direct` for the registries themselves',
    shown: 'the registries',
  },
  opaPath: {
    value: '<path>',
    schema: z.string().optional(),
    doc: 'opa binary that evaluates policies, or a directory of them, searched before the PATH',
    shown: 'the PATH',
  },
  opaMirror: {
    value: '<address>',
    schema: webAddress.default('https://github.com/open-policy-agent/opa/releases/download'),
    doc: 'source of downloads of OPA, with the layout of its releases',
  },
  engineKeyFile: {
    value: '<file>',
    schema: z.string().optional(),
    doc: 'PGP public keys trusted to sign downloads, in addition to those of HashiCorp and OpenTofu',
    file: {
      begin: '-----BEGIN PGP PUBLIC KEY BLOCK-----',
      what: 'armored PGP public key',
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
    doc: 'first of the 65536 user and group ids that the agents of this machine use for runs',
    shown: '1900000000',
  },
  sandbox: {
    isSwitch: true,
    schema: onOff.default(false),
    doc: 'whether runs execute in a sandbox; requires bubblewrap',
  },
  memoryLimit: {
    value: '<size>',
    schema: memoryLimit.optional(),
    doc: 'memory limit of each program of a run, such as `2g`',
    shown: 'none',
  },
  cpuLimit: {
    value: '<number>',
    schema: cpuLimit.optional(),
    doc: 'processor limit of each program of a run, such as `1.5`',
    shown: 'none',
  },
  pidsLimit: {
    value: '<number>',
    schema: wholeNumber(64, 4_194_304).optional(),
    doc: 'limit of processes and threads of a run',
    shown: '4096 where runs have dedicated users, none otherwise',
  },
  planDirectoryLimit: {
    value: '<size>',
    schema: byteSize(0, 'it must be an amount of disk space, such as 500m or 5g').default(PLAN_DIRECTORY_LIMIT),
    doc: 'maximum disk space of working directories that wait for their apply; the oldest are removed first',
    shown: '`5g`',
  },
  hooks: {
    value: '<directory>',
    schema: z.string().optional(),
    doc: 'directory of programs to run before and after plans and applies: pre-plan, post-plan, pre-apply, post-apply',
    shown: 'none',
  },
} as const satisfies Settings

/** Stand-alone and built-in agents have different defaults. */
export const CONCURRENCY = {
  value: '<number>',
  schema: wholeNumber(1, 256),
  doc: 'maximum number of concurrent runs',
} as const

/** Converts the shared settings to options of an agent. */
export function sharedOptions(values: Values<typeof SHARED_SETTINGS> & { concurrency: number }) {
  const { concurrency, enginePath, isolation, firstRunUser, sandbox, hooks } = values
  const mirrors = { terraform: values.terraformMirror, tofu: values.opentofuMirror }
  return {
    concurrency,
    enginePath,
    engineDownloads: values.engineDownloads ? { mirrors, keyFile: values.engineKeyFile } : undefined,
    opa: { path: values.opaPath, mirror: values.engineDownloads ? values.opaMirror : undefined },
    providerMirrors: values.providerMirror,
    isolation,
    firstRunUser,
    sandbox,
    hooks,
    planDirectoryLimit: values.planDirectoryLimit,
    limits: { memory: values.memoryLimit, cpu: values.cpuLimit, pids: values.pidsLimit },
  } satisfies Partial<AgentOptions>
}
