import type { DestinationType } from '@groundstate/contract/notification-configurations'
import type { App } from '../../../app.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import type { ConfigurationRow } from './store.ts'

/** The destination of messages. `url` is undefined for e-mail. */
export type Target = { type: DestinationType; url: string | undefined; token: string | undefined }

type Sealed = Pick<ConfigurationRow, 'id' | 'destination_type' | 'url' | 'token'>

/** Throws `SealError` if the URL or token was sealed with another secret. */
export function openTarget({ secrets }: Pick<App, 'secrets'>, { id, destination_type, url, token }: Sealed): Target {
  return {
    type: destination_type,
    url: url === null ? undefined : secrets.openText(url, sealedUrl.context({ id })),
    token: token === null ? undefined : secrets.openText(token, sealedToken.context({ id })),
  }
}

/** The columns of a target. */
export function sealTarget({ secrets }: Pick<App, 'secrets'>, id: string, { url, token }: Omit<Target, 'type'>) {
  return {
    url: url === undefined ? null : secrets.seal(url, sealedUrl.context({ id })),
    token: token === undefined ? null : secrets.seal(token, sealedToken.context({ id })),
  }
}

export const sealedUrl = sealedColumn(
  'notification_configurations.url',
  ['id'],
  ({ id }) => `notification-configurations/${id}/url`,
)
export const sealedToken = sealedColumn(
  'notification_configurations.token',
  ['id'],
  ({ id }) => `notification-configurations/${id}/token`,
)
