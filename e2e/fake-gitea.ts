import { mona, repository, webhookRequest } from '../server/src/vcs-hosts/gitea/testing/bodies.ts'
import { startFakeHost } from '../server/src/vcs-hosts/testing/fake-host.ts'

/** A host that knows acme/network and acme/storage, and keeps the webhooks that it is asked to create. */
export async function startFakeGitea() {
  const hooks: { url: string; secret: string }[] = []
  const repositories = [repository(), repository('acme/storage', 141)]
  const host = await startFakeHost({
    'GET /api/v1/user': () => ({ body: mona }),
    'GET /api/v1/repos/search': ({ query }) => ({
      body: { ok: true, data: repositories.filter((each) => each.full_name.includes(query['q'] ?? '')) },
    }),
    'GET /api/v1/repos/acme/network': () => ({ body: repository() }),
    'GET /api/v1/repos/acme/network/hooks': () => ({ body: [] }),
    'POST /api/v1/repos/acme/network/hooks': ({ body }) => {
      const { config } = body as { config: { url: string; secret: string } }
      hooks.push(config)
      return { status: 201, body: { id: hooks.length, type: 'gitea', active: true, events: ['push'], config } }
    },
  })
  /** Sends a webhook as the host would. */
  async function deliver(body: object) {
    const hook = hooks.at(-1)
    if (!hook) throw new Error('no webhook was created')
    const response = await fetch(hook.url, webhookRequest('push', body, hook))
    return response.status
  }
  return { ...host, deliver }
}
