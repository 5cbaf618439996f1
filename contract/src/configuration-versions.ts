import { z } from 'zod'
import { requestBody } from './json-api.ts'
import { type Written, hasOne, linkedResource, nullable, resource, statusTimestamps, timestamp } from './responses.ts'

const attributes = z.object({
  /** Whether a run starts once the archive is uploaded. Defaults to true. */
  'auto-queue-runs': z.boolean().nullish(),
  speculative: z.boolean().nullish(),
  /** It becomes the workspace's current configuration only after an apply. */
  provisional: z.boolean().nullish(),
})
export type CreateConfigurationVersion = z.infer<typeof attributes>

const EMPTY_BODY = { data: { type: 'configuration-versions', attributes: {} } } as const

/** Clients that want the defaults send no body. */
export const createConfigurationVersionBody = z.preprocess(
  (body) => body ?? EMPTY_BODY,
  requestBody('configuration-versions', attributes),
)

export const CONFIGURATION_VERSION_STATUS = [
  'pending',
  'fetching',
  'uploaded',
  'archived',
  'errored',
  'backing_data_soft_deleted',
  'backing_data_permanently_deleted',
] as const

/** As in the public API, and two of our own: `gitea`, and `git` for any other git server. */
export const CONFIGURATION_SOURCES = [
  'tfe-api',
  'terraform',
  'terraform+cloud',
  'github',
  'gitlab',
  'bitbucket',
  'ado',
  'gitea',
  'git',
] as const

export const configurationVersionSchema = resource('configuration-versions', {
  attributes: {
    'auto-queue-runs': z.boolean().describe('whether a run starts as soon as the archive is uploaded'),
    error: nullable.string.describe('`invalid_archive`, `upload_expired` or `fetch_failed`; null without an error'),
    'error-message': nullable.string,
    source: z
      .enum(CONFIGURATION_SOURCES)
      .describe(
        '`terraform+cloud` from a `cloud` block, `terraform` from `backend "remote"`, the kind of host for a commit, else `tfe-api`',
      ),
    speculative: z.boolean().describe('whether its runs can only plan'),
    provisional: z.boolean().describe("whether it becomes the workspace's configuration only once it is applied"),
    status: z.enum(CONFIGURATION_VERSION_STATUS),
    'status-timestamps': statusTimestamps,
    'created-at': timestamp.describe('our own'),
    'changed-files': z.array(z.string()).describe('always empty: the decisions about a push name what matched'),
    size: nullable.int.describe('our own: size of the archive, in bytes; null before it is uploaded'),
    'upload-url': nullable.string.describe(
      'upload URL for the archive, a tar.gz; needs no token. Present only in the response to the creation, otherwise null',
    ),
  },
  relationships: {
    workspace: hasOne('workspaces'),
    'ingress-attributes': hasOne('ingress-attributes').describe('the commit that it comes from; none for an upload'),
    run: hasOne('runs').optional().describe('the last run of this version, when it is included'),
  },
  links: { self: z.string(), download: z.string() },
})
export type ConfigurationVersionResource = Written<typeof configurationVersionSchema>

const text = z.string()
/** The commit that a configuration comes from, as in the public API. */
export const ingressAttributesSchema = linkedResource('ingress-attributes', {
  attributes: {
    branch: text,
    'clone-url': text,
    'commit-message': text,
    'commit-sha': text,
    'commit-url': text,
    'compare-url': text,
    identifier: text,
    'is-pull-request': z.boolean(),
    'on-default-branch': z.boolean(),
    'pull-request-number': nullable.int,
    'pull-request-url': nullable.string,
    'pull-request-title': nullable.string,
    'pull-request-body': nullable.string,
    tag: nullable.string,
    'sender-username': text,
    'sender-avatar-url': text,
    'sender-html-url': text,
  },
  relationships: { 'created-by': hasOne('users').describe('always none: the sender is a user of the host') },
})
export type IngressAttributesResource = Written<typeof ingressAttributesSchema>
