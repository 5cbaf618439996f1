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

const PROJECT_LEVELS = {
  read: LEVELS.read.about,
  write: LEVELS.write.about,
  maintain: LEVELS.admin.about,
  admin: LEVELS.admin.about,
} as const

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

type Parts = Pick<TeamAccess, keyof typeof PARTS | 'run-tasks' | 'policy-overrides'> & { locking: boolean }

/** "Starts runs that others approve, sees outputs." Lists only granted permissions. */
function partWords(parts: Parts) {
  const { variables, 'state-versions': states } = parts
  const words = [
    PARTS.runs.choices[parts.runs],
    variables !== 'none' && PARTS.variables.choices[variables],
    states !== 'none' && PARTS['state-versions'].choices[states],
    parts.locking && FLAGS['workspace-locking'],
    parts['run-tasks'] && FLAGS['run-tasks'],
    parts['policy-overrides'] && FLAGS['policy-overrides'],
  ]
  return `${capitalized(words.filter(Boolean).join(', '))}.`
}

export function accessText(access: TeamAccess) {
  return access.access === 'custom'
    ? partWords({ ...access, locking: access['workspace-locking'] })
    : LEVELS[access.access].about
}

export function projectAccessText({ access, 'workspace-access': parts }: ProjectAccess) {
  return access === 'custom' ? partWords(parts) : PROJECT_LEVELS[access]
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
