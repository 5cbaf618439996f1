import type { Wire } from '@groundstate/contract/responses'
import type { teamProjects, teamWorkspaces } from '@groundstate/contract/team-access'
import { capitalized } from '../../components/numbers.ts'
import type { WorkspaceAttributes } from '../workspaces/workspace.ts'

export type TeamAccess = Wire<typeof teamWorkspaces.resource>['attributes']
export type ProjectAccess = Wire<typeof teamProjects.resource>['attributes']

export const LEVELS = {
  read: { text: 'Read', about: 'Sees runs, variables and states.' },
  plan: { text: 'Plan', about: 'Sees everything and starts runs that others approve.' },
  write: { text: 'Write', about: 'Starts and approves runs, changes variables and states, locks.' },
  admin: { text: 'Admin', about: 'Full access, including settings, tasks, triggers and access.' },
  custom: { text: 'Custom', about: 'Individual permissions.' },
} as const satisfies Record<TeamAccess['access'], { text: string; about: string }>

/** Levels of access to a project. They describe the access to its workspaces first, which all of them include. */
export const PROJECT_LEVELS = {
  read: { text: 'Read', about: 'Sees the workspaces with their runs, variables and states.' },
  write: { text: 'Write', about: 'Starts and approves runs, changes variables and states, locks.' },
  maintain: { text: 'Maintain', about: 'Full access to the workspaces; creates and deletes them.' },
  admin: { text: 'Admin', about: 'Full access to the project and its workspaces, including settings and teams.' },
  custom: { text: 'Custom', about: 'Individual permissions.' },
} as const satisfies Record<ProjectAccess['access'], { text: string; about: string }>

/** Permissions of custom access, in ascending order. */
export const PARTS = {
  runs: {
    text: 'Runs',
    choices: { read: 'sees runs', plan: 'starts runs that others approve', apply: 'starts and approves runs' },
  },
  variables: {
    text: 'Variables',
    choices: { none: 'sees no variables', read: 'sees variables', write: 'changes variables' },
  },
  'state-versions': {
    text: 'States',
    choices: { none: 'sees no states', 'read-outputs': 'sees outputs', read: 'sees states', write: 'writes states' },
  },
} as const
export const FLAGS = {
  'workspace-locking': 'locks and unlocks',
  'run-tasks': 'attaches run tasks',
  'policy-overrides': 'overrides policies',
} as const

/** Permissions of custom access on the project itself, in ascending order. */
export const PROJECT_PARTS = {
  settings: {
    text: 'Settings',
    choices: { read: 'sees settings', update: 'changes settings', delete: 'changes settings, deletes the project' },
  },
  teams: {
    text: 'Teams',
    choices: { none: 'sees no teams', read: 'sees teams', manage: 'manages teams' },
  },
  'variable-sets': {
    text: 'Variable sets',
    choices: { none: 'sees no variable sets', read: 'sees variable sets', write: 'manages variable sets' },
  },
} as const
export const PROJECT_FLAGS = {
  create: 'creates workspaces',
  move: 'moves workspaces',
  delete: 'deletes workspaces',
  locking: FLAGS['workspace-locking'],
  'run-tasks': FLAGS['run-tasks'],
  'policy-overrides': FLAGS['policy-overrides'],
} as const

type Parts = Pick<TeamAccess, keyof typeof PARTS | 'run-tasks' | 'policy-overrides'> & { locking: boolean }

/** The granted permissions: "starts runs that others approve", "sees outputs". */
function partWords(parts: Parts) {
  const { variables, 'state-versions': states } = parts
  return [
    PARTS.runs.choices[parts.runs],
    variables !== 'none' && PARTS.variables.choices[variables],
    states !== 'none' && PARTS['state-versions'].choices[states],
    parts.locking && FLAGS['workspace-locking'],
    parts['run-tasks'] && FLAGS['run-tasks'],
    parts['policy-overrides'] && FLAGS['policy-overrides'],
  ]
}

function sentence(words: readonly (string | false)[]) {
  return `${capitalized(words.filter(Boolean).join(', '))}.`
}

export function accessText(access: TeamAccess) {
  return access.access === 'custom'
    ? sentence(partWords({ ...access, locking: access['workspace-locking'] }))
    : LEVELS[access.access].about
}

export function projectAccessText({ access, 'project-access': project, 'workspace-access': parts }: ProjectAccess) {
  if (access !== 'custom') return PROJECT_LEVELS[access].about
  return sentence([
    ...partWords(parts),
    ...(['create', 'move', 'delete'] as const).map((flag) => parts[flag] && PROJECT_FLAGS[flag]),
    project.settings !== 'read' && PROJECT_PARTS.settings.choices[project.settings],
    project.teams !== 'none' && PROJECT_PARTS.teams.choices[project.teams],
    project['variable-sets'] !== 'none' && PROJECT_PARTS['variable-sets'].choices[project['variable-sets']],
  ])
}

const OWN: readonly [keyof WorkspaceAttributes['permissions'], string][] = [
  ['can-read-run', 'see runs'],
  ['can-queue-run', 'start runs'],
  ['can-queue-apply', 'approve them'],
  ['can-queue-destroy', 'start destroy runs'],
  ['can-read-variable', 'see variables'],
  ['can-update-variable', 'change variables'],
  ['can-read-state-outputs', 'see outputs'],
  ['can-read-state-versions', 'see states'],
  ['can-create-state-versions', 'write states'],
  ['can-lock', 'lock and unlock'],
  ['can-force-unlock', 'force-unlock'],
  ['can-manage-tags', 'change tags'],
  ['can-manage-run-tasks', 'attach run tasks'],
  ['can-update', 'change settings, triggers and access'],
  ['can-destroy', 'delete the workspace'],
]

/** The user's permissions, each a phrase to follow "You can". */
export function ownPermissionTexts(permissions: WorkspaceAttributes['permissions']) {
  return OWN.filter(([name]) => permissions[name]).map(([, words]) => words)
}
