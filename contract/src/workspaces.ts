import { z } from 'zod'
import { entryProblem, newSeenEntries } from './archive-entry.ts'
import { boundedList, optionalId, requestBody, toOne, toOneOrNone, unsupportedFlag } from './json-api.ts'
import { vcsRepo, vcsRepoSchema } from './oauth-clients.ts'
import { executionMode, resourceName } from './organizations.ts'
import { activityDuration } from './projects.ts'
import { type Written, hasOne, linksToMany, nullable, resource, timestamp } from './responses.ts'
import { RUN_GROUP_NAMES } from './run-status.ts'
import { tagBindingsRelation, tagsRelation } from './tags.ts'

const VERSION = String.raw`v?\d+(\.(\d+|[x*])){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?`
const CONSTRAINT = new RegExp(String.raw`^(=|!=|>=?|<=?|~>|\^|~)?\s*${VERSION}$`)

/** `latest`, a version, or a constraint such as `~> 1.11`; even unknown ones, since OpenTofu has its own and `init` must work with a new release. */
export const engineVersion = z
  .string()
  .trim()
  .max(100)
  .refine((text) => text === 'latest' || text.split(',').every((part) => CONSTRAINT.test(part.trim())), {
    error: (issue) =>
      `${JSON.stringify(issue.input)} is not a version: it must be latest, a version such as 1.11.4, or a constraint such as ~> 1.11`,
  })

const directory = z
  .string()
  .max(1000)
  .regex(/^[^\0]*$/, 'must not contain null bytes')

/** Normalises a working directory relative to the root of the configuration: `/db/` and `./db` become `db`. */
export function normalizedDirectory(path: string) {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/')
}

/** Stored as given, since clients compare it. */
const workingDirectory = z
  .string()
  .max(1000)
  .superRefine((path, context) => {
    const problem = entryProblem({ path: normalizedDirectory(path), type: 'Directory' }, newSeenEntries())
    if (problem === undefined) return
    const shown = JSON.stringify(path.slice(0, 100))
    const message = `working-directory is ${shown}; it must be a directory inside the configuration: it ${problem}`
    context.addIssue({ code: 'custom', message })
  })

function onlyNull(error: string) {
  return z
    .unknown()
    .refine((value) => value === null || value === undefined, { error })
    .optional()
}

const attributes = z.object({
  name: resourceName('Name'),
  description: z.string().max(4000).nullish(),
  'execution-mode': executionMode.nullish(),
  /** Older form of `execution-mode`: false means local. */
  operations: z.boolean().nullish(),
  'agent-pool-id': optionalId,
  'setting-overwrites': z
    .object({ 'execution-mode': z.boolean().nullish(), 'agent-pool': z.boolean().nullish() })
    .nullish(),
  'engine-version': engineVersion.nullish(),
  /** Empty as the default: the vendor's Kubernetes operator sends it for workspaces without a version. */
  'terraform-version': z.preprocess((version) => (version === '' ? null : version), engineVersion.nullish()),
  'working-directory': workingDirectory.nullish(),
  'auto-apply': z.boolean().nullish(),
  'auto-apply-run-trigger': z.boolean().nullish(),
  'auto-apply-reviewed': z.boolean().nullish(),
  'trigger-only-on-output-change': z.boolean().nullish(),
  'allow-destroy-plan': z.boolean().nullish(),
  'assessments-enabled': z.boolean().nullish(),
  'file-triggers-enabled': z.boolean().nullish(),
  'trigger-prefixes': boundedList(directory, 300).nullish(),
  'trigger-patterns': boundedList(directory, 300).nullish(),
  'queue-all-runs': z.boolean().nullish(),
  'speculative-enabled': z.boolean().nullish(),
  'structured-run-output-enabled': z.boolean().nullish(),
  'global-remote-state': z.boolean().nullish(),
  'project-remote-state': z.boolean().nullish(),
  'auto-destroy-at': z.iso.datetime({ offset: true }).nullish(),
  'auto-destroy-activity-duration': activityDuration,
  'inherits-project-auto-destroy': z.boolean().nullish(),
  'migration-environment': onlyNull(
    'migration-environment must be null: this server has no legacy environments to migrate',
  ),
  'hyok-enabled': unsupportedFlag('hyok-enabled', 'customer-held keys are'),
  'source-name': z.string().max(255).nullish(),
  'source-url': z
    .url({ protocol: /^https?$/ })
    .max(2000)
    .nullish(),
  /** The repository whose pushes and pull requests start runs; null removes it. */
  'vcs-repo': vcsRepo.nullish(),
})
const relationships = z.object({
  project: toOne('projects').optional(),
  /** The same as `agent-pool-id`. */
  'agent-pool': toOneOrNone('agent-pools').optional(),
  tags: tagsRelation,
  'tag-bindings': tagBindingsRelation,
})

export const createWorkspaceBody = requestBody('workspaces', attributes, relationships)
export const updateWorkspaceBody = requestBody('workspaces', attributes.partial(), relationships)
export type CreateWorkspace = z.infer<typeof createWorkspaceBody>['data']
export type UpdateWorkspace = z.infer<typeof updateWorkspaceBody>['data']

const reason = z.string().max(1000).nullish()
/** Plain JSON, a document with an empty resource type, or nothing: clients send all three. Parses to the reason. */
export const lockBody = z
  .union([
    z.object({ data: z.object({ attributes: z.object({ reason }).nullish() }) }),
    z.object({ reason, data: z.null().optional() }),
  ])
  .nullish()
  .transform(
    (body) => (body?.data ? body.data.attributes?.reason : body && 'reason' in body ? body.reason : null) ?? null,
  )

const STORED = 'stored, without effect on this server'
const ABSENT = 'always null: not supported by this server'
const AVERAGE = 'average over the runs in `workspace-kpis-runs-count`; null if none had this phase'
const nothing = z.strictObject({ data: z.null() })

const permissions = z.strictObject({
  'can-update': z.boolean(),
  'can-destroy': z.boolean(),
  'can-force-delete': z.boolean().describe('whether the caller may delete it while it still manages resources'),
  'can-queue-run': z.boolean(),
  'can-queue-apply': z.boolean(),
  'can-queue-destroy': z.boolean(),
  'can-read-run': z.boolean(),
  'can-read-variable': z.boolean(),
  'can-update-variable': z.boolean(),
  'can-read-state-versions': z.boolean(),
  'can-read-state-outputs': z.boolean(),
  'can-create-state-versions': z.boolean(),
  'can-lock': z.boolean(),
  'can-unlock': z.boolean(),
  'can-force-unlock': z.boolean().describe("whether the caller may release another holder's lock"),
  'can-read-settings': z.boolean(),
  'can-manage-tags': z.boolean(),
  'can-manage-run-tasks': z.boolean(),
  'can-manage-assessments': z.boolean(),
  'can-read-assessment-results': z.boolean(),
  'can-manage-ephemeral-workspaces': z.boolean(),
  'can-manage-hyok': z.boolean(),
})

export const workspaceSchema = resource('workspaces', {
  attributes: {
    name: z.string(),
    description: nullable.string,
    'created-at': timestamp,
    'updated-at': timestamp,
    'latest-change-at': timestamp.describe('when the current state was created, or the workspace if it has none'),
    environment: z.literal('default'),
    'execution-mode': executionMode.describe(
      'where runs execute: `remote` on the server, `agent` on an agent pool, `local` on the client',
    ),
    operations: z.boolean().describe('the older form of `execution-mode`: false when it is `local`'),
    'setting-overwrites': z
      .strictObject({ 'execution-mode': z.boolean(), 'agent-pool': z.boolean() })
      .describe('whether the workspace overrides the setting of its project or organization'),
    'agent-pool-id': nullable.string.describe('null unless `execution-mode` is `agent`'),
    'terraform-version': z.string().describe('the same as `engine-version`, under the name that clients read'),
    'engine-version': z.string().describe('our own: `latest`, a version, or a constraint such as `~> 1.11`'),
    'working-directory': z
      .string()
      .describe('from the root of the configuration: `db`, `/db` and `./db/` are the same; empty for the root itself'),
    'auto-apply': z.boolean(),
    'auto-apply-run-trigger': z.boolean().describe('whether triggered runs are applied automatically'),
    'auto-apply-reviewed': z
      .boolean()
      .describe('our own: whether runs of merges are applied if, and only if, they change what was reviewed'),
    'trigger-only-on-output-change': z
      .boolean()
      .describe('our own: whether run triggers start a run only when outputs that the workspace reads have changed'),
    'allow-destroy-plan': z.boolean(),
    'can-queue-destroy-plan': z.boolean().describe('the same as `allow-destroy-plan`'),
    'assessments-enabled': z.boolean().describe(STORED),
    'file-triggers-enabled': z
      .boolean()
      .describe('whether only changes of certain files start runs: see `trigger-prefixes` and `trigger-patterns`'),
    'trigger-prefixes': z
      .array(z.string())
      .describe('directories whose changes start runs, in addition to the working directory'),
    'trigger-patterns': z.array(z.string()).describe('glob patterns of the files whose changes start runs'),
    'queue-all-runs': z.boolean().describe('whether pushes start runs even before the first manual run'),
    'speculative-enabled': z.boolean().describe('whether pull requests are planned'),
    'structured-run-output-enabled': z
      .boolean()
      .describe("whether run logs are the engine's JSON lines rather than text"),
    'global-remote-state': z.boolean().describe('whether every workspace of the organization may read the state'),
    'project-remote-state': z.boolean().describe('whether every workspace of the project may read the state'),
    'auto-destroy-at': nullable.time.describe(
      `derived from the duration after the latest change if no time was set; setting it clears the duration, and vice versa; ${STORED}`,
    ),
    'auto-destroy-activity-duration': nullable.string.describe(
      `such as \`14d\` or \`36h\`, inherited from the project if the workspace sets none; ${STORED}`,
    ),
    'auto-destroy-status': z.null().describe(ABSENT),
    'inherits-project-auto-destroy': z
      .boolean()
      .describe('whether the workspace inherits the auto-destroy settings of its project'),
    'migration-environment': z.null().describe(ABSENT),
    source: z.string().describe('what created the workspace, such as `tfe-api`'),
    'source-name': nullable.string,
    'source-url': nullable.string,
    'source-module-id': z.null().describe(ABSENT),
    'no-code-upgrade-available': z.literal(false),
    'has-configuration': z
      .boolean()
      .describe('our own: whether it has a current configuration, which runs use that name no other'),
    'vcs-repo': vcsRepoSchema.nullable(),
    'vcs-repo-identifier': nullable.string,
    locked: z.boolean(),
    'locked-at': nullable.time.describe('our own: when it was locked'),
    'locked-reason': nullable.string.describe('also null when the lock has no reason'),
    'run-group': z
      .enum(RUN_GROUP_NAMES)
      .nullable()
      .describe("our own: group of the current run's status; null without a current run"),
    'has-drift': z
      .boolean()
      .nullable()
      .describe(
        'our own: whether the last refresh-only plan found changes and nothing was applied since; null without such a plan',
      ),
    'resource-count': z.int().describe('instances of managed resources in the current state'),
    'apply-duration-average': nullable.int.describe(`ms in the apply phase, ${AVERAGE}`),
    'plan-duration-average': nullable.int.describe(`ms in the plan phase, ${AVERAGE}`),
    'policy-check-failures': z.literal(0).nullable().describe('always 0: policies are not evaluated'),
    'run-failures': nullable.int.describe('number of failed runs among them'),
    'workspace-kpis-runs-count': nullable.int.describe(
      'number of runs behind these figures: the last 30 applied or failed ones; null for none',
    ),
    'last-assessment-result-at': z.null().describe(ABSENT),
    'hyok-enabled': z.literal(false),
    'tag-names': z.array(z.string()).describe('keys of the tags that have no value'),
    'vcs-repo-problem': nullable.string.describe(
      'our own: why git cannot read the repository or its branch, or why the host refuses the webhook',
    ),
    'waiting-reason': nullable.string
      .optional()
      .describe(
        'our own: why its run is waiting, as text for users; null when none is waiting, absent from included workspaces',
      ),
    actions: z.strictObject({ 'is-destroyable': z.boolean() }),
    permissions: permissions.describe("the caller's permissions on the workspace"),
  },
  relationships: {
    organization: hasOne('organizations'),
    project: hasOne('projects'),
    'agent-pool': hasOne('agent-pools'),
    'ssh-key': hasOne('ssh-keys').describe('the key with which git fetches modules'),
    'locked-by': hasOne('users', 'teams', 'runs'),
    'current-run': hasOne('runs'),
    'latest-run': hasOne('runs'),
    'current-configuration-version': hasOne('configuration-versions').describe(
      'in the response about a single workspace that has none yet, the newest one that is awaited',
    ),
    'current-state-version': hasOne('state-versions').describe('also none when the caller may not read states'),
    'current-assessment-result': nothing,
    readme: nothing,
    outputs: linksToMany('workspace-outputs'),
    vars: linksToMany('vars').describe(
      'also named in the response about a single workspace, if the caller may read variables',
    ),
    'remote-state-consumers': linksToMany('workspaces'),
    'data-retention-policy': hasOne('data-retention-policy-delete-olders', 'data-retention-policy-dont-deletes'),
    'tag-bindings': linksToMany('tag-bindings'),
    'effective-tag-bindings': linksToMany('effective-tag-bindings'),
  },
  links: { self: z.string(), 'self-html': z.string().describe('the path of its page in the web application') },
})
export type WorkspaceResource = Written<typeof workspaceSchema>
