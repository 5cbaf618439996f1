import type { HostWebhooks } from '../host.ts'
import { BRANCH, headerOf, isSignedBody, isZero, NOBODY, parseBody, TAG, withoutPrefix } from '../webhook-bodies.ts'
import { webhookSchema } from './schemas.ts'

export const gitWebhooks: HostWebhooks = {
  verify: (request, secret) => isSignedBody(request, 'x-groundstate-signature', secret),
  deliveryId: (request) => headerOf(request, 'x-groundstate-delivery'),
  parse(request) {
    const { ref, before, after, repository: identifier, pusher, message = '' } = parseBody(webhookSchema, request)
    const commit = isZero(after) ? null : { sha: after, message, url: '' }
    const sender = pusher === undefined ? NOBODY : { ...NOBODY, username: pusher }
    if (ref.startsWith(TAG)) {
      return { identifier, events: [{ kind: 'tag', tag: withoutPrefix(TAG, ref), commit, sender }] }
    }
    if (!ref.startsWith(BRANCH)) return { identifier, ignored: `${ref} is neither a branch nor a tag` }
    const push = {
      kind: 'push' as const,
      branch: withoutPrefix(BRANCH, ref),
      before: isZero(before) ? null : before,
      commit,
      compareUrl: '',
      sender,
      changedFiles: null,
    }
    return { identifier, events: [push] }
  },
}
