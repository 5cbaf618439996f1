import type { DestinationType } from '@groundstate/contract/notification-configurations'
import type { App } from '../../../app.ts'
import type { ConfigurationRow } from './store.ts'

/** The destination of messages. `url` is undefined for e-mail. */
export type Target = { type: DestinationType; url: string | undefined; token: string | undefined }

type Sealed = Pick<ConfigurationRow, 'id' | 'destination_type' | 'url' | 'token'>

/** Throws `SealError` if the URL or token was sealed with another secret. */
export function openTarget({ secrets }: Pick<App, 'secrets'>, { id, destination_type, url, token }: Sealed): Target {
  return {
    type: destination_type,
    url: url === null ? undefined : secrets.openText(url, contextOf(id, 'url')),
    token: token === null ? undefined : secrets.openText(token, contextOf(id, 'token')),
  }
}

/** The columns of a target. */
export function sealTarget({ secrets }: Pick<App, 'secrets'>, id: string, { url, token }: Omit<Target, 'type'>) {
  return {
    url: url === undefined ? null : secrets.seal(url, contextOf(id, 'url')),
    token: token === undefined ? null : secrets.seal(token, contextOf(id, 'token')),
  }
}

function contextOf(id: string, attribute: 'url' | 'token') {
  return `notification-configurations/${id}/${attribute}`
}
