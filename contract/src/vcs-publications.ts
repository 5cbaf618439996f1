import { z } from 'zod'
import { type Written, hasOne, nullable, resource, timestamp } from './responses.ts'

/** Why something was published from a repository, or why not, as text for users; `{}` is replaced by the detail. */
export const PUBLICATION_REASONS = {
  pushed: 'pushed to {}',
  tagged: 'tag {}',
  imported: 'imported from {}',
  requested: 'requested for a commit of {}',
  'branch-deleted': 'the branch was deleted',
  'tag-deleted': 'the tag was deleted: published versions stay',
  'other-branch': 'the policy set follows the branch {}',
  'no-tags': 'a policy set follows a branch, not tags',
  'no-pull-requests': 'pull requests are not published',
  'no-version': 'the tag is not a version: expected {}',
  'publishes-tags': 'tags publish the module, not pushes',
  'publishes-commits': 'the module publishes commits of the branch {} when a version is created, not tags or pushes',
  'no-matching-files': 'no changed file matches {}',
  'same-commit': 'the latest version is of the same commit',
  superseded: 'a later push has been published already',
  'already-published': 'version {} is published already',
  'tag-moved': 'version {} was published from another commit, and a published version never changes',
  failed: '{}',
} as const satisfies Record<string, string>
export type PublicationReason = keyof typeof PUBLICATION_REASONS

/** The reason in words. */
export function describePublication(reason: PublicationReason, detail: string | null) {
  return PUBLICATION_REASONS[reason].replace('{}', () => detail ?? '')
}

export const PUBLICATION_STATUSES = ['pending', 'published', 'skipped', 'failed'] as const

const reason = z.enum(Object.keys(PUBLICATION_REASONS) as [PublicationReason, ...PublicationReason[]])

/** Our own: a version of a module or policy set that was published from a repository, or the reason why not. */
export const vcsPublicationSchema = resource('vcs-publications', {
  attributes: {
    name: z.string().describe('of the module, with its provider, or of the policy set'),
    status: z.enum(PUBLICATION_STATUSES),
    reason,
    description: z.string().describe('the reason in words'),
    message: nullable.string.describe('why a pending one is delayed'),
    version: nullable.string.describe('of a module'),
    'commit-sha': nullable.string,
    'created-at': timestamp,
    'ended-at': nullable.time,
  },
  relationships: {
    delivery: hasOne('vcs-deliveries').describe('null for an import'),
    'registry-module': hasOne('registry-modules'),
    'policy-set': hasOne('policy-sets'),
  },
})
export type VcsPublicationResource = Written<typeof vcsPublicationSchema>
