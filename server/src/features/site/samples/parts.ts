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

/** Directories in `configurations/`, one for each workspace of the sample. */
const CONFIGURATIONS = ['network', 'app'] as const
export type Configuration = (typeof CONFIGURATIONS)[number]

/** Default names of the parts. */
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
    attributes: {
      name,
      description: 'Demonstrates this server with resources that do not exist. You can delete it in one click.',
    },
    relationships: { 'tag-bindings': { data: [binding('purpose', 'sample')] } },
  }
}

const DESCRIPTIONS: Record<Configuration, string> = {
  network: 'An imaginary network: subnets, firewall rules and a gateway. Its first run waits for approval.',
  app: 'Services that read the outputs of the network. A run trigger starts the runs.',
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
    description: 'Overrides the value of the variable set. Change it to see the gateway replaced.',
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
    description: 'Remove one to see a plan that destroys.',
  },
  {
    key: 'vpn_password',
    value: 'this-is-no-secret',
    category: 'terraform',
    sensitive: true,
    description: 'Sensitive: it can be changed but not read.',
  },
  {
    key: 'TF_VAR_cost_center',
    value: '4711',
    category: 'env',
    description: 'An environment variable of the engine. This one sets the variable cost_center.',
  },
]

/** The app reads the outputs of the network by the names from the creation of the sample. */
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
          variable('owner', 'platform team', 'The owner of the resources of the sample.'),
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
    description: 'Reviews the plan and reports findings. This server is its receiver.',
    'hmac-key': receiver.hmacKey,
  }
}

function binding(key: string, value: string) {
  return { type: 'tag-bindings' as const, attributes: { key, value } }
}

export type Sample = {
  row: store.SampleRow
  organizationName: string
  isComplete: boolean
  contents: store.SampleContents
}

type Project = NonNullable<store.SampleContents['project']>

/** The reason to keep the project when the sample is removed; undefined if it is deleted. */
export function reasonToKeep({ is_default: isDefault, foreign_workspaces, foreign_sets }: Project) {
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

/** Whether a URL is the receiver's under a previous address of the server. */
export function isFormerReceiver(url: string, current: string) {
  return url !== current && URL.parse(url)?.pathname.endsWith(OWN_RECEIVER_PATH) === true
}

/** Permissions to create and remove a sample, in addition to those for its parts. */
export const SAMPLE_PERMISSIONS = [
  'projects:create',
  'workspaces:create',
  'variable-sets:manage',
  'run-tasks:manage',
] as const

/** The organization, for an actor that may create a sample. Throws `forbidden` with all missing permissions. */
export async function requireSampleMaker(ctx: Ctx, organizationName: string): Promise<Organization> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  checkSampleMaker(organization)
  return organization
}

export function checkSampleMaker({ name, can }: Organization) {
  const missing = SAMPLE_PERMISSIONS.filter((permission) => !can.has(permission))
  if (missing.length === 0) return
  const what = missing.length === 1 ? 'the permission' : 'the permissions'
  throw forbidden(`creating and removing a sample needs ${what} ${missing.join(', ')} in the organization ${name}`)
}

/** The sample of a visible organization. Throws `not-found` without one. */
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

/** The name if it is available, otherwise the first one available with a number: `sample-app`, `sample-app-2` … */
export function freeName(base: string, taken: ReadonlySet<string>, separator = '-') {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}${separator}${number}`
    if (!taken.has(name.toLowerCase())) return name
  }
}

/** Uploads the configurations of a new sample, in this order. */
export const uploadJob = jobKind(
  'samples.upload',
  z.object({ versions: z.array(z.object({ id: z.string(), configuration: z.enum(CONFIGURATIONS) })) }),
  { timeLimitMs: 60_000 },
)
