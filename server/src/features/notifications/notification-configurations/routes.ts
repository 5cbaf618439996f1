import { notificationConfigurationIncludes } from '@groundstate/contract/includes'
import {
  type SubscribableType,
  createNotificationConfigurationBody,
  notificationConfigurationSchema,
  updateNotificationConfigurationBody,
} from '@groundstate/contract/notification-configurations'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import { type Configuration, requireConfiguration } from './access.ts'
import { recipientsOfAll } from './recipients.ts'
import { configurationResource } from './resource.ts'
import * as service from './service.ts'

const LISTS = {
  workspaces: { noun: 'workspace', read: { workspace: 'workspace:read' }, manage: { workspace: 'workspace:update' } },
  projects: { noun: 'project', read: { project: 'project:read' }, manage: { project: 'project:update' } },
  teams: { noun: 'team', read: { team: 'team:read' }, manage: { team: 'team:update' } },
} as const satisfies Record<SubscribableType, { noun: string; read: object; manage: object }>

export const NOTIFICATION_READ = [LISTS.workspaces.read, LISTS.projects.read, LISTS.teams.read] as const
export const NOTIFICATION_MANAGE = [LISTS.workspaces.manage, LISTS.projects.manage, LISTS.teams.manage] as const

const ONE = '/notification-configurations/:notificationConfigurationId'
const include = notificationConfigurationIncludes
const CONFIGURATION = { responses: { 200: documentOf(notificationConfigurationSchema) }, include }
/** Without page parameters, the public API sends no pagination. */
const unpaged = z.strictObject({ data: z.array(notificationConfigurationSchema) })
const ALL = { number: 1, size: 100 }

export const notificationConfigurationRoutes: Routes = (http) => {
  for (const type of ['workspaces', 'projects', 'teams'] as const) {
    const { noun, read, manage } = LISTS[type]
    const all = `/${type}/:subscribableId/notification-configurations` as const
    http.get(
      all,
      {
        summary: `List the notification configurations of a ${noun}`,
        access: read,
        responses: { 200: z.union([pageOf(notificationConfigurationSchema), unpaged]) },
        include,
      },
      async (req) => {
        const key = { type, id: req.params.subscribableId }
        const page = req.pageIfAny()
        const list = await service.listConfigurations(req.ctx, key, page ?? ALL)
        const recipients = await recipientsOfAll(req.ctx, managedIds(list.rows))
        const resourceOf = (row: Configuration) =>
          configurationResource(req.ctx, { ...row, recipients: recipients.get(row.id) ?? null })
        if (page) return req.list(list, resourceOf)
        return { status: 200, document: { data: list.rows.map(resourceOf) } }
      },
    )
    http.post(
      all,
      {
        summary: `Create a notification configuration of a ${noun}`,
        access: manage,
        audit: 'notification_configuration create',
        responses: { 201: documentOf(notificationConfigurationSchema) },
        body: createNotificationConfigurationBody,
      },
      async (req) => {
        const key = { type, id: req.params.subscribableId }
        const configuration = await service.createConfiguration(req.ctx, key, req.body.data)
        return created(await shownResource(req.ctx, configuration))
      },
    )
  }
  http.get(
    ONE,
    { summary: 'Show a notification configuration', access: NOTIFICATION_READ, ...CONFIGURATION },
    async (req) => show(req.ctx, await requireConfiguration(req.ctx, req.params.notificationConfigurationId, 'read')),
  )
  http.patch(
    ONE,
    {
      summary: 'Update a notification configuration',
      access: NOTIFICATION_MANAGE,
      audit: 'notification_configuration update',
      body: updateNotificationConfigurationBody,
      ...CONFIGURATION,
    },
    async ({ ctx, params, body }) =>
      show(ctx, await service.updateConfiguration(ctx, params.notificationConfigurationId, body.data)),
  )
  http.delete(
    ONE,
    {
      summary: 'Delete a notification configuration',
      access: NOTIFICATION_MANAGE,
      audit: 'notification_configuration destroy',
      responses: { 204: null },
    },
    async (req) => service.deleteConfiguration(req.ctx, req.params.notificationConfigurationId),
  )
  http.post(
    `${ONE}/actions/verify`,
    {
      summary: 'Verify a notification configuration',
      access: NOTIFICATION_MANAGE,
      audit: 'notification_configuration verify',
      ...CONFIGURATION,
    },
    async ({ ctx, params }) => show(ctx, await service.verifyConfiguration(ctx, params.notificationConfigurationId)),
  )
  http.post(
    `${ONE}/actions/enable`,
    {
      summary: 'Enable a notification configuration',
      access: NOTIFICATION_MANAGE,
      audit: 'notification_configuration update',
      ...CONFIGURATION,
    },
    async ({ ctx, params }) =>
      show(ctx, await service.enableConfiguration(ctx, params.notificationConfigurationId, true)),
  )
  // Our own: an update through the public API also replaces the users.
  http.post(
    `${ONE}/actions/disable`,
    {
      summary: 'Disable a notification configuration',
      access: NOTIFICATION_MANAGE,
      audit: 'notification_configuration update',
      ...CONFIGURATION,
    },
    async ({ ctx, params }) =>
      show(ctx, await service.enableConfiguration(ctx, params.notificationConfigurationId, false)),
  )
}

async function show(ctx: Ctx, configuration: Configuration) {
  return ok(await shownResource(ctx, configuration))
}

async function shownResource(ctx: Ctx, configuration: Configuration) {
  const recipients = await recipientsOfAll(ctx, managedIds([configuration]))
  return configurationResource(ctx, { ...configuration, recipients: recipients.get(configuration.id) ?? null })
}

/** Those of the configurations that send e-mail and whose recipients the actor may see. */
function managedIds(rows: readonly Configuration[]) {
  return rows.filter((row) => row.destination_type === 'email' && row.subscribable.canManage).map(({ id }) => id)
}
