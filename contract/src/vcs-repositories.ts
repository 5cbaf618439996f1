import { z } from 'zod'
import { type Written, hasOne, linkedResource, nullable, resource, timestamp } from './responses.ts'

/** How the host reports changes of a repository. */
export const WEBHOOK_STATUSES = ['created', 'pending', 'failed', 'by-hand', 'app'] as const

/** Our own: a repository that workspaces use through a connection. */
export const vcsRepositorySchema = linkedResource('vcs-repositories', {
  name: 'VcsRepository',
  attributes: {
    identifier: z.string(),
    'display-identifier': z.string(),
    'page-url': nullable.string,
    'default-branch': nullable.string.describe('null until the host has been asked'),
    'created-at': timestamp,
    'webhook-status': z
      .enum(WEBHOOK_STATUSES)
      .describe('`by-hand`: users create it on the host; `app`: that of the GitHub App reports the repository'),
    'webhook-error': nullable.string.describe(
      'why git or the host could not be asked about the repository, until they can; or why the host refuses the webhook',
    ),
    'webhook-url': nullable.string.describe('null for callers that may not manage connections'),
    'workspace-count': z.int(),
    'last-delivery-at': nullable.time.describe('the last time that the host, or polling, reported something'),
    'polled-at': nullable.time,
  },
  relationships: { 'oauth-client': hasOne('oauth-clients') },
})
export type VcsRepositoryResource = Written<typeof vcsRepositorySchema>

/** Our own: a new secret, in the only response that has it. The id is that of the repository. */
export const webhookSecretSchema = resource('webhook-secrets', {
  attributes: { secret: z.string(), 'webhook-url': z.string() },
})
export type WebhookSecretResource = Written<typeof webhookSecretSchema>
