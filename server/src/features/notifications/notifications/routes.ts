import {
  NOTIFICATION_STATUS,
  notificationDeliverySchema,
  notificationSchema,
} from '@groundstate/contract/notification-configurations'
import { documentOf, pageOf, uncountedPageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { oneOf } from '../../../http/query.ts'
import { ok, uncountedPage } from '../../../http/responses.ts'
import { NOTIFICATION_MANAGE, NOTIFICATION_READ } from '../notification-configurations/routes.ts'
import { requireNotification } from './access.ts'
import { notificationDeliveryResource, notificationResource } from './resource.ts'
import * as service from './service.ts'

const NOTIFICATION = { responses: { 200: documentOf(notificationSchema) } }

/** Our own: what was sent, and what was returned. */
export const notificationRoutes: Routes = (http) => {
  http.get(
    '/notification-configurations/:notificationConfigurationId/notifications',
    {
      summary: 'List the notifications of a notification configuration',
      access: NOTIFICATION_READ,
      query: { 'filter[status]': oneOf(NOTIFICATION_STATUS).describe('only notifications of this status') },
      responses: { 200: uncountedPageOf(notificationSchema) },
    },
    async (req) => {
      const page = req.page()
      const list = { page, status: req.query['filter[status]'] }
      const { rows, isLast } = await service.listNotifications(req.ctx, req.params.notificationConfigurationId, list)
      return uncountedPage({ url: req.url, page, isLast }, rows.map(notificationResource))
    },
  )
  http.get(
    '/notifications/:notificationId',
    { summary: 'Show a notification', access: NOTIFICATION_READ, ...NOTIFICATION },
    async (req) => ok(notificationResource(await requireNotification(req.ctx, req.params.notificationId, 'read'))),
  )
  http.get(
    '/notifications/:notificationId/deliveries',
    {
      summary: 'List the deliveries of a notification',
      access: NOTIFICATION_MANAGE,
      responses: { 200: pageOf(notificationDeliverySchema) },
    },
    async (req) =>
      req.list(
        await service.listAttempts(req.ctx, req.params.notificationId, req.page()),
        notificationDeliveryResource,
      ),
  )
  http.post(
    '/notifications/:notificationId/actions/redeliver',
    {
      summary: 'Redeliver a notification',
      access: NOTIFICATION_MANAGE,
      audit: 'notification redeliver',
      ...NOTIFICATION,
    },
    async (req) => ok(notificationResource(await service.redeliver(req.ctx, req.params.notificationId))),
  )
}
