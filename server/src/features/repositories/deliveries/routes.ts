import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { vcsDecisionIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { DELIVERY_STATUSES, vcsDecisionSchema, vcsDeliverySchema } from '@groundstate/contract/vcs-deliveries'
import type { FastifyRequest } from 'fastify'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { oneOf, text } from '../../../http/query.ts'
import { accepted, ok } from '../../../http/responses.ts'
import { MAX_WEBHOOK_BYTES, receiveAppWebhook, receiveWebhook } from './receive.ts'
import { decisionResource, deliveryResource } from './resource.ts'
import * as service from './service.ts'

const WEBHOOK = {
  access: 'signed',
  audit: { none: 'the delivery is in the log of deliveries' },
  prefix: '',
  // A stream, since the signature covers the bytes.
  upload: true,
  maxBytes: MAX_WEBHOOK_BYTES,
  responses: { 202: null },
} as const

export const webhookRoutes: Routes = (http) => {
  http.post('/webhooks/vcs/:path', { ...WEBHOOK, summary: 'Receive a webhook of a repository' }, async (req) => {
    await receiveWebhook(req.ctx, req.params.path, async () => webhookOf(req.raw))
    return accepted()
  })
  http.post('/webhooks/github-app', { ...WEBHOOK, summary: 'Receive a webhook of the GitHub App' }, async (req) => {
    await receiveAppWebhook(req.ctx, async () => webhookOf(req.raw))
    return accepted()
  })
}

async function webhookOf({ headers, body }: FastifyRequest) {
  return { headers, body: await buffer(body as Readable) }
}

const READ = { access: { organization: 'vcs-settings:read' } } as const
const READ_ONE = { access: [{ organization: 'vcs-settings:manage' }, { workspace: 'workspace:read' }] } as const
const LIST_QUERY = {
  'filter[status]': oneOf(DELIVERY_STATUSES),
  'filter[oauth-client]': text().describe('id of a connection'),
  'filter[repository]': text().describe('identifier of a repository, such as `acme/network`'),
}

export const vcsDeliveryRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/vcs-deliveries',
    {
      ...READ,
      summary: 'List what hosts reported about repositories, the latest first',
      responses: { 200: pageOf(vcsDeliverySchema) },
      query: LIST_QUERY,
    },
    async (req) => {
      const filter = {
        status: req.query['filter[status]'],
        clientId: req.query['filter[oauth-client]'],
        identifier: req.query['filter[repository]'],
      }
      const list = await service.listDeliveries(req.ctx, req.params.organization, { filter, page: req.page() })
      return req.list(list, deliveryResource)
    },
  )
  http.get(
    '/vcs-deliveries/:id',
    { ...READ_ONE, summary: 'Show a delivery', responses: { 200: documentOf(vcsDeliverySchema) } },
    async (req) => ok(deliveryResource(await service.requireDelivery(req.ctx, req.params.id, 'vcs-settings:read'))),
  )
  http.get(
    '/vcs-deliveries/:id/decisions',
    {
      ...READ_ONE,
      summary: 'List what a delivery did in each workspace, and why',
      responses: { 200: pageOf(vcsDecisionSchema) },
      include: vcsDecisionIncludes,
    },
    async (req) => req.list(await service.listDecisions(req.ctx, req.params.id, req.page()), decisionResource),
  )
  http.get(
    '/workspaces/:workspaceId/vcs-decisions',
    {
      summary: 'List what deliveries did in a workspace, and why, the latest first',
      access: { workspace: 'runs:read' },
      responses: { 200: pageOf(vcsDecisionSchema) },
      include: vcsDecisionIncludes,
    },
    async (req) =>
      req.list(await service.listWorkspaceDecisions(req.ctx, req.params.workspaceId, req.page()), decisionResource),
  )
  http.post(
    '/vcs-deliveries/:id/actions/replay',
    {
      summary: 'Decide a delivery again',
      access: { organization: 'vcs-settings:manage' },
      audit: 'vcs_delivery replay',
      responses: { 202: null },
    },
    async (req) => {
      await service.replayDelivery(req.ctx, req.params.id)
      return accepted()
    },
  )
}

export const vcsDeliveryLoaders: readonly Loader[] = [
  {
    type: 'vcs-deliveries',
    load: async (ctx, ids) => (await service.listReadableDeliveries(ctx, ids)).map(deliveryResource),
  },
]
