import type { CreateProject } from '@groundstate/contract/projects'
import type { CreateTask } from '@groundstate/contract/run-tasks'
import type { CreateVariableSet } from '@groundstate/contract/variable-sets'
import type { CreateVariable } from '@groundstate/contract/variables'
import type { CreateWorkspace } from '@groundstate/contract/workspaces'
import { z } from 'zod'
import type { App, Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { OWN_RECEIVER_PATH } from '../../../outbound/loopback-server.ts'
import { type Organization, requireOrganization } from '../../organizations/organizations/access.ts'
import type { SampleRow } from './store.ts'
import * as store from './store.ts'

/** The directories in `configurations/`, one for each workspace of the sample. */
export const CONFIGURATIONS = ['network', 'app'] as const
export type Configuration = (typeof CONFIGURATIONS)[number]

/** The names of the parts, unless they are taken. */
export const NAMES = {
  project: 'Sample',
  network: 'sample-network',
  app: 'sample-app',
  variableSet: 'sample-settings',
  task: 'sample-review',
} as const

export function projectInput(name: string): CreateProject {
  return {
    type: 'projects',
    attributes: { name, description: 'What this server does, on resources that do not exist. It goes in one click.' },
    relationships: { 'tag-bindings': { data: [binding('purpose', 'sample')] } },
  }
}

const DESCRIPTIONS: Record<Configuration, string> = {
  network: 'A network on paper: subnets, firewall rules and a gateway. Its first run waits to be approved.',
  app: 'Services that read the outputs of the network. A run trigger starts its runs.',
}

export function workspaceInput(
  configuration: Configuration,
  { name, projectId }: { name: string; projectId: string },
): CreateWorkspace {
  return {
    type: 'workspaces',
    attributes: { name, description: DESCRIPTIONS[configuration] },
    relationships: {
      project: { data: { type: 'projects', id: projectId } },
      tags: { data: [{ type: 'tags', attributes: { name: 'sample' } }] },
      'tag-bindings': { data: [binding('layer', configuration), binding('environment', 'production')] },
    },
  }
}

export const NETWORK_VARIABLES: readonly CreateVariable[] = [
  {
    key: 'environment',
    value: 'production',
    category: 'terraform',
    description: 'Wins over the value of the variable set. Change it to see the gateway replaced.',
  },
  {
    key: 'subnets',
    value: `{
  edge = { cidr = "10.20.1.0/24", public = true }
  apps = { cidr = "10.20.2.0/24", public = false }
  data = { cidr = "10.20.3.0/24", public = false }
}`,
    category: 'terraform',
    hcl: true,
    description: 'Take one out to see a plan that destroys.',
  },
  {
    key: 'vpn_password',
    value: 'this-is-no-secret',
    category: 'terraform',
    sensitive: true,
    description: 'Sensitive: it can be changed, and never be read.',
  },
  {
    key: 'TF_VAR_cost_center',
    value: '4711',
    category: 'env',
    description: 'An environment variable of the engine. This one sets the variable cost_center.',
  },
]

/** The app reads the outputs of the network by the names that both had when the sample was made. */
export function appVariables(organization: string, network: string): readonly CreateVariable[] {
  return [
    {
      key: 'network',
      value: `{\n  organization = ${JSON.stringify(organization)}\n  workspace    = ${JSON.stringify(network)}\n}`,
      category: 'terraform',
      hcl: true,
      description: 'The workspace whose outputs this one reads.',
    },
  ]
}

export function variableSetInput(name: string, projectId: string): CreateVariableSet {
  const variable = (key: string, value: string, description: string) => ({
    type: 'vars' as const,
    attributes: { key, value, category: 'terraform' as const, description },
  })
  return {
    type: 'varsets',
    attributes: { name, description: 'For all workspaces of the project.', global: true },
    relationships: {
      parent: { data: { type: 'projects', id: projectId } },
      vars: {
        data: [
          variable('owner', 'platform team', 'Who is asked about what the sample makes.'),
          variable('environment', 'development', 'Used where a workspace sets no value.'),
        ],
      },
    },
  }
}

export function taskAttributes(name: string, receiver: { url: string; hmacKey: string }): CreateTask['attributes'] {
  return {
    name,
    url: receiver.url,
    category: 'task',
    description: 'Reads the plan and says what it finds. This server answers it by itself.',
    'hmac-key': receiver.hmacKey,
  }
}

function binding(key: string, value: string) {
  return { type: 'tag-bindings' as const, attributes: { key, value } }
}

/** A sample with what it consists of, as far as the actor may see it. */
export type Sample = {
  row: store.SampleRow
  organizationName: string
  isComplete: boolean
  contents: store.SampleContents
}

type Project = NonNullable<store.SampleContents['project']>

/** Why the project of a sample stays when the sample is removed; undefined when it goes. */
export function keptBecause({ is_default: isDefault, foreign_workspaces, foreign_sets }: Project) {
  if (isDefault) return "it is the organization's default project"
  const others = [
    ...(foreign_workspaces > 0 ? [counted(foreign_workspaces, 'other workspace')] : []),
    ...(foreign_sets > 0 ? [counted(foreign_sets, 'other variable set')] : []),
  ]
  return others.length === 0 ? undefined : `it has ${others.join(' and ')}`
}

/** A number with its noun: `1 run`, `2 runs`. */
export function counted(count: number, noun: string) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The receiver URL of a sample's task, and the key that signs its requests. Both are derived, not stored. */
export function sampleReceiver({ baseUrl, secrets }: Pick<App, 'baseUrl' | 'secrets'>, sampleId: string) {
  return { url: `${baseUrl}${OWN_RECEIVER_PATH}`, hmacKey: secrets.sign(sampleId, 'sample-receiver') }
}

/** Whether a URL is that of the receiver under another address, which the server had before. */
export function isFormerReceiver(url: string, current: string) {
  return url !== current && URL.parse(url)?.pathname.endsWith(OWN_RECEIVER_PATH) === true
}

/** Permissions needed to create and remove a sample, in addition to those of its parts. */
export const SAMPLE_PERMISSIONS = [
  'projects:create',
  'workspaces:create',
  'variable-sets:manage',
  'run-tasks:manage',
] as const

/** The organization, for who may make a sample in it. Throws `forbidden` with all that is missing. */
export async function requireSampleMaker(ctx: Ctx, organizationName: string): Promise<Organization> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  checkSampleMaker(organization)
  return organization
}

/** Throws `forbidden` with all that is missing. */
export function checkSampleMaker({ name, can }: Organization) {
  const missing = SAMPLE_PERMISSIONS.filter((permission) => !can.has(permission))
  if (missing.length === 0) return
  const what = missing.length === 1 ? 'the permission' : 'the permissions'
  throw forbidden(`making and removing a sample needs ${what} ${missing.join(', ')} in the organization ${name}`)
}

/** The sample of an organization that the actor sees. Throws `not-found` where there is none. */
export async function requireSample(ctx: Ctx, organizationName: string) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const sample = await store.findSample(ctx.db, organization.id)
  if (!sample) throw notFound('sample')
  return { organization, sample }
}

export function sampleAudit(
  { id, organization_id: organizationId }: SampleRow,
  action: 'create' | 'update' | 'destroy',
): AuditEvent {
  return { organizationId, action, resource: { type: 'sample', id }, notices: [] }
}

/** The name itself, or the first one with a number that no one has: `sample-app`, `sample-app-2` … */
export function freeName(wanted: string, taken: ReadonlySet<string>, separator = '-') {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}${separator}${number}`
    if (!taken.has(name.toLowerCase())) return name
  }
}

/** Brings the configurations of a new sample into its workspaces, in this order. */
export const uploadJob = jobKind(
  'samples.upload',
  z.object({ versions: z.array(z.object({ id: z.string(), configuration: z.enum(CONFIGURATIONS) })) }),
  { timeLimitMs: 60_000 },
)
