import { z } from 'zod'
import { requestBody, toOne } from './json-api.ts'
import { hasOne, resource } from './responses.ts'

const flag = z.boolean().optional()

const workspaceParts = z.strictObject({
  runs: z.enum(['read', 'plan', 'apply']),
  variables: z.enum(['none', 'read', 'write']),
  'state-versions': z.enum(['none', 'read-outputs', 'read', 'write']),
  'sentinel-mocks': z.enum(['none', 'read']).describe('stored, without effect on this server'),
  'run-tasks': z.boolean(),
  'policy-overrides': z.boolean(),
})
const workspaceInput = workspaceParts.partial().shape

const projectParts = z.strictObject({
  settings: z.enum(['read', 'update', 'delete']),
  teams: z.enum(['none', 'read', 'manage']),
  'variable-sets': z.enum(['none', 'read', 'write']),
})

/** Schemas of one kind of grant: `shown` are the attributes of a response, `input` those of a request besides `access`. */
function grantSchemas<
  const Noun extends 'workspace' | 'project',
  Access extends z.ZodEnum,
  Shown extends z.ZodRawShape,
  Input extends z.ZodRawShape,
>(noun: Noun, { access, shown, input }: { access: Access; shown: Shown; input: Input }) {
  const type = `team-${noun}s` as const
  const attributes = z.object({ access, ...input })
  const relationships = { team: toOne('teams'), ...named(noun, toOne(`${noun}s`)) }
  return {
    type,
    resource: resource(type, {
      attributes: { access, ...shown },
      relationships: { team: hasOne('teams'), ...named(noun, hasOne(`${noun}s`)) },
      links: { self: z.string() },
    }),
    createBody: requestBody(type, attributes, z.object(relationships)),
    updateBody: requestBody(type, attributes.partial()),
  }
}

function named<Name extends string, T>(name: Name, value: T) {
  return { [name]: value } as Record<Name, T>
}

export const teamWorkspaces = grantSchemas('workspace', {
  access: z.enum(['read', 'plan', 'write', 'admin', 'custom']),
  shown: { ...workspaceParts.shape, 'workspace-locking': z.boolean() },
  input: { ...workspaceInput, 'workspace-locking': flag },
})

export type TeamWorkspaceInput = z.infer<typeof teamWorkspaces.createBody>['data']['attributes']

/** A team's access to a project and its workspaces. */
export const teamProjects = grantSchemas('project', {
  access: z.enum(['read', 'write', 'maintain', 'admin', 'custom']),
  shown: {
    'project-access': projectParts,
    'workspace-access': workspaceParts
      .extend({ create: z.boolean(), move: z.boolean(), locking: z.boolean(), delete: z.boolean() })
      .describe("the team's access to the workspaces of the project"),
  },
  input: {
    'project-access': z.object(projectParts.partial().shape).optional(),
    'workspace-access': z
      .object({ ...workspaceInput, create: flag, move: flag, locking: flag, delete: flag })
      .optional(),
  },
})
