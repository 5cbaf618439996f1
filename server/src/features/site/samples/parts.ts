import type { CreateProject } from '@groundstate/contract/projects'
import type { CreateTask } from '@groundstate/contract/run-tasks'
import type { CreateVariableSet } from '@groundstate/contract/variable-sets'
import type { CreateVariable } from '@groundstate/contract/variables'
import type { CreateWorkspace } from '@groundstate/contract/workspaces'

/** The directories in `configurations/`, one for each workspace of the sample. */
export const CONFIGURATIONS = ['network', 'app'] as const
export type Configuration = (typeof CONFIGURATIONS)[number]

/** What the parts are called, unless others have the names. */
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
          variable('environment', 'development', 'Used where a workspace has no value of its own.'),
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
