import { type GpgKeyResource, createGpgKeyBody, gpgKeySchema, updateGpgKeyBody } from '@groundstate/contract/gpg-keys'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { REQUIRED, textList } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import * as service from './service.ts'
import type { GpgKeyRow } from './store.ts'

const prefix = '/api/registry/private/v2'
const KEY = '/gpg-keys/:namespace/:keyId'
const READ = { access: { organization: 'registry:read' }, prefix } as const
const MANAGE = { access: { organization: 'providers:manage' }, prefix } as const
const ONE = { 200: documentOf(gpgKeySchema) }

export const gpgKeyRoutes: Routes = (http) => {
  http.get(
    '/gpg-keys',
    {
      ...READ,
      summary: 'List the GPG keys of organizations',
      query: { 'filter[namespace]': textList().meta(REQUIRED) },
      responses: { 200: pageOf(gpgKeySchema) },
    },
    async (req) =>
      req.list(await service.listGpgKeys(req.ctx, req.query['filter[namespace]'], req.page()), gpgKeyResource),
  )
  http.post(
    '/gpg-keys',
    {
      ...MANAGE,
      summary: 'Add a GPG key',
      audit: 'gpg_key create',
      body: createGpgKeyBody,
      responses: { 201: documentOf(gpgKeySchema) },
    },
    async (req) => created(gpgKeyResource(await service.createGpgKey(req.ctx, req.body.data.attributes))),
  )
  http.get(KEY, { ...READ, summary: 'Show a GPG key', responses: ONE }, async (req) =>
    ok(gpgKeyResource(await service.requireGpgKey(req.ctx, req.params, 'registry:read'))),
  )
  http.patch(
    KEY,
    {
      ...MANAGE,
      summary: 'Move a GPG key to another organization',
      audit: ['gpg_key update', 'gpg_key create'],
      body: updateGpgKeyBody,
      responses: ONE,
      authorise: async (ctx, params) => service.requireGpgKey(ctx, params, 'providers:manage'),
    },
    async (req) => ok(gpgKeyResource(await service.updateGpgKey(req.ctx, req.subject, req.body.data.attributes))),
  )
  http.delete(
    KEY,
    {
      ...MANAGE,
      summary: 'Delete a GPG key',
      audit: 'gpg_key destroy',
      responses: { 204: null },
      authorise: async (ctx, params) => service.requireGpgKey(ctx, params, 'providers:manage'),
    },
    async (req) => service.deleteGpgKey(req.ctx, req.subject),
  )
}

function gpgKeyResource(row: GpgKeyRow): GpgKeyResource {
  return {
    id: row.id,
    type: 'gpg-keys',
    attributes: {
      'ascii-armor': row.ascii_armor,
      'key-id': row.key_id,
      namespace: row.namespace,
      source: '',
      'source-url': null,
      'trust-signature': '',
      fingerprint: row.fingerprint,
      'user-ids': row.user_ids,
      'expires-at': row.expires_at,
      'created-at': row.created_at,
      'updated-at': row.updated_at,
    },
    links: { self: `${prefix}/gpg-keys/${row.namespace}/${row.key_id}` },
  }
}
