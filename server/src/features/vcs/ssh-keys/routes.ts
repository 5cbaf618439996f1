import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createSshKeyBody, sshKeySchema, updateSshKeyBody } from '@groundstate/contract/ssh-keys'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { sshKeyResource } from './resource.ts'
import * as service from './service.ts'

const OF_ORGANIZATION = '/organizations/:organization/ssh-keys'
const MANAGE = { access: { organization: 'vcs-settings:manage' } } as const
const ONE = { 200: documentOf(sshKeySchema) }

export const sshKeyRoutes: Routes = (http) => {
  http.get(
    OF_ORGANIZATION,
    {
      summary: 'List the SSH keys of an organization',
      access: { organization: 'vcs-settings:read' },
      responses: { 200: pageOf(sshKeySchema) },
    },
    async (req) => req.list(await service.listSshKeys(req.ctx, req.params.organization, req.page()), sshKeyResource),
  )
  http.post(
    OF_ORGANIZATION,
    {
      ...MANAGE,
      summary: 'Create an SSH key',
      audit: 'ssh_key create',
      responses: { 201: documentOf(sshKeySchema) },
      body: createSshKeyBody,
      authorise: async (ctx, { organization }) => requireOrganization(ctx, organization, 'vcs-settings:manage'),
    },
    async (req) => created(sshKeyResource(await service.createSshKey(req.ctx, req.subject, req.body.data))),
  )
  http.get(
    '/ssh-keys/:id',
    { summary: 'Show an SSH key', access: { organization: 'vcs-settings:read' }, responses: ONE },
    async (req) => ok(sshKeyResource(await service.requireSshKey(req.ctx, req.params.id, 'vcs-settings:read'))),
  )
  http.patch(
    '/ssh-keys/:id',
    {
      ...MANAGE,
      summary: 'Update an SSH key',
      audit: 'ssh_key update',
      responses: ONE,
      body: updateSshKeyBody,
      authorise: async (ctx, { id }) => service.requireSshKey(ctx, id, 'vcs-settings:manage'),
    },
    async (req) => ok(sshKeyResource(await service.updateSshKey(req.ctx, req.subject, req.body.data))),
  )
  http.delete(
    '/ssh-keys/:id',
    { ...MANAGE, summary: 'Delete an SSH key', audit: 'ssh_key destroy', responses: { 204: null } },
    async (req) => service.deleteSshKey(req.ctx, req.params.id),
  )
}
