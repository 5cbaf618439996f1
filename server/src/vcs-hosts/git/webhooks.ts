import { BODY_HMAC, headerOf, isNoCommit, isSignedBody, NOBODY, parseBody, parseRef } from '../bodies.ts'
import type { HostWebhooks } from '../host.ts'
import { pushSchema } from './schemas.ts'

export const gitWebhooks: HostWebhooks = {
  signedBy: [`X-Groundstate-Signature: sha256=${BODY_HMAC}`],
  verify: (request, secret) =>
    isSignedBody(request, secret, { signature: headerOf(request, 'x-groundstate-signature') }),
  deliveryId: (request) => headerOf(request, 'x-groundstate-delivery'),
  parse(request) {
    const body = parseBody(pushSchema, request)
    const { before, after, repository: identifier, pusher, message = '' } = body
    const ref = parseRef(body.ref)
    if (!ref) return { identifier, ignored: `${body.ref.slice(0, 200)} is neither a branch nor a tag` }
    const commit = isNoCommit(after) ? null : { sha: after, message, url: '' }
    const sender = pusher === undefined ? NOBODY : { ...NOBODY, username: pusher }
    if (ref.kind === 'tag') return { identifier, events: [{ kind: 'tag', tag: ref.name, commit, sender }] }
    const push = {
      kind: 'push' as const,
      branch: ref.name,
      before: isNoCommit(before) ? null : before,
      commit,
      compareUrl: '',
      sender,
      changedFiles: null,
    }
    return { identifier, events: [push] }
  },
}
