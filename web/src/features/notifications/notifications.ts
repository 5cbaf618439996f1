import type {
  SubscribableType,
  notificationConfigurationSchema,
  notificationDeliverySchema,
  notificationSchema,
} from '@groundstate/contract/notification-configurations'
import type { notificationSettingsSchema } from '@groundstate/contract/notification-settings'
import type { DocumentOnWire, PageOnWire, Wire, uncountedPageOf } from '@groundstate/contract/responses'
import type { userSchema } from '@groundstate/contract/users'
import { useMutation, useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { includedOf, keepWithin, sendAndRefetch, useChange } from '../../api/queries.ts'
import { attempt, toast } from '../../components/overlay-hosts.tsx'

export type Configuration = Wire<typeof notificationConfigurationSchema>
export type Notification = Wire<typeof notificationSchema>
export type NotificationDelivery = Wire<typeof notificationDeliverySchema>
export type Recipient = { id: string; name: string }
export type ShownConfiguration = { configuration: Configuration; recipients: readonly Recipient[] }

/** The workspace, project or team whose events are notified. */
export type Owner = { organization: string; kind: SubscribableType; id: string; name: string }

export type ConfigurationBody = { attributes: Record<string, unknown>; userIds?: readonly string[] | undefined }

/** The type of all queries about notifications; their scope is the organization. */
export const NOTIFICATIONS = 'notification-configurations'

type ConfigurationDocument = DocumentOnWire<typeof notificationConfigurationSchema, typeof userSchema>

/** All configurations of the owner, which has at most 20. */
export function useConfigurations({ organization, kind, id }: Owner) {
  return useQuery({
    queryKey: [NOTIFICATIONS, organization, kind, id],
    queryFn: async ({ signal }) =>
      getData<PageOnWire<typeof notificationConfigurationSchema>>(
        `/${kind}/${id}/notification-configurations?page[size]=100`,
        signal,
      ),
  })
}

export function useConfiguration(organization: string, id: string) {
  return useQuery({
    queryKey: [NOTIFICATIONS, organization, id],
    queryFn: async ({ signal }): Promise<ShownConfiguration> => {
      const document = await get<ConfigurationDocument>(`/notification-configurations/${id}?include=users`, signal)
      const { data: configuration } = document
      const users = includedOf(document).many('users', configuration.relationships.users)
      return {
        configuration,
        recipients: users.map((user) => ({ id: user.id, name: user.attributes.username ?? user.id })),
      }
    },
  })
}

function bodyOf({ attributes, userIds }: ConfigurationBody, id?: string) {
  const users = userIds && { users: { data: userIds.map((user) => ({ type: 'users', id: user })) } }
  return { data: { type: 'notification-configurations', id, attributes, relationships: users } }
}

/** Creates a configuration, or changes the one of `id`. The server sends a test if it is enabled then. */
export function useSaveConfiguration({ organization, kind, id: ownerId }: Owner, id: string | undefined) {
  return useChange(
    async (body: ConfigurationBody) =>
      id === undefined
        ? request<ConfigurationDocument>('POST', `/${kind}/${ownerId}/notification-configurations`, bodyOf(body))
        : request<ConfigurationDocument>('PATCH', `/notification-configurations/${id}`, bodyOf(body, id)),
    [NOTIFICATIONS, organization],
  )
}

/** Enables a configuration once its destination has accepted a test, or disables it, with a toast to undo it. */
export function useSwitchConfiguration(organization: string) {
  const change = useChange(
    async ({ id, enabled }: { id: string; enabled: boolean }) =>
      request('POST', `/notification-configurations/${id}/actions/${enabled ? 'enable' : 'disable'}`),
    [NOTIFICATIONS, organization],
  )
  const toggle = async ({ id, attributes: { name, enabled } }: Configuration) =>
    attempt(async () => {
      await change.mutateAsync({ id, enabled: !enabled })
      toast({
        text: `${name} ${enabled ? 'disabled' : 'enabled'}`,
        undo: async () => change.mutateAsync({ id, enabled }),
      })
    })
  return { toggle, isPending: change.isPending }
}

export const DELETION = 'Nothing more is sent, and its log is deleted. This can’t be undone.'

export function useDeleteConfiguration(organization: string) {
  return useChange(
    async (id: string) => request('DELETE', `/notification-configurations/${id}`),
    [NOTIFICATIONS, organization],
  )
}

/** Sends a test to the destination. The response to it, also to a refused one, is an attribute of the configuration. */
export function useSendTest(organization: string, id: string) {
  return useMutation({
    mutationFn: async () =>
      sendAndRefetch('POST', `/notification-configurations/${id}/actions/verify`, [NOTIFICATIONS, organization]),
  })
}

type LogSearch = { status?: string | undefined; page?: number | undefined }

/** The notifications of a configuration, latest first. */
export function useNotifications(organization: string, id: string, { status, page }: LogSearch) {
  const query = queryString({ 'filter[status]': status, 'page[number]': page })
  return useQuery({
    queryKey: [NOTIFICATIONS, organization, id, 'log', query],
    queryFn: async ({ signal }) =>
      get<NotificationsPage>(`/notification-configurations/${id}/notifications${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}
type NotificationsPage = Wire<ReturnType<typeof uncountedPageOf<typeof notificationSchema>>>

/** The attempts to deliver a notification, latest first. */
export function useDeliveries(organization: string, notificationId: string) {
  return useQuery({
    queryKey: [NOTIFICATIONS, organization, notificationId, 'deliveries'],
    queryFn: async ({ signal }) =>
      getData<PageOnWire<typeof notificationDeliverySchema>>(`/notifications/${notificationId}/deliveries`, signal),
  })
}

export function useRedeliver(organization: string) {
  return useChange(
    async (notificationId: string) => request('POST', `/notifications/${notificationId}/actions/redeliver`),
    [NOTIFICATIONS, organization],
  )
}

export type NotificationSettings = Wire<typeof notificationSettingsSchema>['attributes']

/** The mails that the user receives, and whether the server can send any. */
export function useNotificationSettings() {
  return useQuery({
    queryKey: ['notification-settings'],
    queryFn: async () =>
      (await getData<DocumentOnWire<typeof notificationSettingsSchema>>('/account/notification-settings')).attributes,
  })
}

export function useUpdateNotificationSettings() {
  return useChange(
    async (attributes: Partial<Pick<NotificationSettings, 'own-run-triggers' | 'configured-mails'>>) =>
      request('PATCH', '/account/notification-settings', { data: { type: 'notification-settings', attributes } }),
    ['notification-settings'],
  )
}
