import { z } from 'zod'
import { requestBody } from './json-api.ts'

export const executionMode = z.enum(['remote', 'local', 'agent'])

/** Names stand in URLs and in configuration files, so they have no characters that must be escaped there. */
export const resourceName = (noun: string, max = 90) =>
  z
    .string()
    .min(1, `${noun} can't be blank`)
    .max(max, { error: `${noun} is too long (maximum is ${max} characters)`, abort: true })
    // A refinement, since its message is shown as it stands: clients look for these words.
    .refine((text) => /^[A-Za-z0-9_-]*$/.test(text), {
      error: ({ input }) =>
        `${noun} may only contain letters, numbers, underscores and hyphens: it is ${JSON.stringify(input)}`,
    })

/** What the database can keep. */
const minutes = z.int().min(1).max(2_147_483_647)

const attributes = z.object({
  name: resourceName('Name'),
  email: z.email(),
  'collaborator-auth-policy': z.enum(['password', 'two_factor_mandatory']).optional(),
  'session-timeout': minutes.nullish(),
  'session-remember': minutes.nullish(),
  'cost-estimation-enabled': z.boolean().optional(),
  'assessments-enforced': z.boolean().optional(),
  'allow-force-delete-workspaces': z.boolean().optional(),
  'send-passing-statuses-for-untriggered-speculative-plans': z.boolean().optional(),
  'aggregated-commit-status-enabled': z.boolean().optional(),
  'speculative-plan-management-enabled': z.boolean().optional(),
  'owners-team-saml-role-id': z.string().nullish(),
  'default-execution-mode': executionMode.optional(),
})

const relationships = z.object({
  'default-agent-pool': z
    .object({ data: z.object({ id: z.string(), type: z.literal('agent-pools') }).nullable() })
    .optional(),
})

export const createOrganizationBody = requestBody('organizations', attributes, relationships)
export type CreateOrganization = z.infer<typeof attributes>

export const updateOrganizationBody = requestBody('organizations', attributes.partial(), relationships)
export type UpdateOrganization = z.infer<typeof updateOrganizationBody>['data']
