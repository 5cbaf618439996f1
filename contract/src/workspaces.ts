import { z } from 'zod'
import { entryProblem, newSeenEntries } from './archive-entry.ts'
import { requestBody, toOne } from './json-api.ts'
import { executionMode, resourceName } from './organizations.ts'
import { activityDuration } from './projects.ts'
import { tagBindingsRelation, tagsRelation } from './tags.ts'

const VERSION = String.raw`v?\d+(\.(\d+|[x*])){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?`
const CONSTRAINT = new RegExp(String.raw`^(=|!=|>=?|<=?|~>|\^|~)?\s*${VERSION}$`)

/**
 * `latest`, a version, or a constraint such as `~> 1.11`. Versions that this server has never heard of are taken:
 * OpenTofu sends its own, and a new release must not make `init` fail.
 */
export const engineVersion = z
  .string()
  .trim()
  .max(100)
  .refine((text) => text === 'latest' || text.split(',').every((part) => CONSTRAINT.test(part.trim())), {
    error: (issue) =>
      `${JSON.stringify(issue.input)} is no version: it must be latest, a version such as 1.11.4, or a constraint such as ~> 1.11`,
  })

const folder = z
  .string()
  .max(1000)
  .regex(/^[^\0]*$/, 'must not contain null bytes')

const workingDirectory = z
  .string()
  .max(1000)
  .superRefine((path, context) => {
    const problem = entryProblem({ path, type: 'Directory' }, newSeenEntries())
    if (problem === undefined) return
    const given = JSON.stringify(path.slice(0, 100))
    const message = `working-directory is ${given}, it must be a folder inside the configuration: it ${problem}`
    context.addIssue({ code: 'custom', message })
  })

const attributes = z.object({
  name: resourceName('Name'),
  description: z.string().max(4000).nullish(),
  'execution-mode': executionMode.nullish(),
  /** The older name: false is local execution. */
  operations: z.boolean().nullish(),
  'agent-pool-id': z.string().nullish(),
  'setting-overwrites': z
    .object({ 'execution-mode': z.boolean().nullish(), 'agent-pool': z.boolean().nullish() })
    .nullish(),
  'engine-version': engineVersion.nullish(),
  'terraform-version': engineVersion.nullish(),
  'working-directory': workingDirectory.nullish(),
  'auto-apply': z.boolean().nullish(),
  'auto-apply-run-trigger': z.boolean().nullish(),
  'allow-destroy-plan': z.boolean().nullish(),
  'assessments-enabled': z.boolean().nullish(),
  'file-triggers-enabled': z.boolean().nullish(),
  'trigger-prefixes': z.array(folder).max(300).nullish(),
  'trigger-patterns': z.array(folder).max(300).nullish(),
  'queue-all-runs': z.boolean().nullish(),
  'speculative-enabled': z.boolean().nullish(),
  'structured-run-output-enabled': z.boolean().nullish(),
  'global-remote-state': z.boolean().nullish(),
  'project-remote-state': z.boolean().nullish(),
  'auto-destroy-at': z.iso.datetime({ offset: true }).nullish(),
  'auto-destroy-activity-duration': activityDuration,
  'inherits-project-auto-destroy': z.boolean().nullish(),
  'migration-environment': z.string().max(255).nullish(),
  'source-name': z.string().max(255).nullish(),
  'source-url': z
    .url({ protocol: /^https?$/ })
    .max(2000)
    .nullish(),
  'vcs-repo': z
    .unknown()
    .refine((value) => value === null || value === undefined, {
      error: 'vcs-repo must be null: this server has no connections to version control',
    })
    .optional(),
})
const relationships = z.object({
  project: toOne('projects').optional(),
  tags: tagsRelation,
  'tag-bindings': tagBindingsRelation,
})

export const createWorkspaceBody = requestBody('workspaces', attributes, relationships)
export const updateWorkspaceBody = requestBody('workspaces', attributes.partial(), relationships)
export type CreateWorkspace = z.infer<typeof createWorkspaceBody>['data']
export type UpdateWorkspace = z.infer<typeof updateWorkspaceBody>['data']

const reason = z.string().max(1000).nullish()
/**
 * The body of a lock: plain JSON, a document whose resource type is empty, or nothing at all; clients send all three. Reads
 * as the reason.
 */
export const lockBody = z
  .union([
    z.object({ data: z.object({ attributes: z.object({ reason }).nullish() }) }),
    z.object({ reason, data: z.null().optional() }),
  ])
  .nullish()
  .transform(
    (body) => (body?.data ? body.data.attributes?.reason : body && 'reason' in body ? body.reason : null) ?? null,
  )
