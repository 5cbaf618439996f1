import type { App } from '../../../app.ts'
import { OWN_RECEIVER_PATH } from '../../../outbound/own-server.ts'

/** Where the task of a sample is answered, and the key that signs its requests. Nothing of this is stored twice. */
export function sampleReceiver({ baseUrl, secrets }: Pick<App, 'baseUrl' | 'secrets'>, sampleId: string) {
  return { url: `${baseUrl}${OWN_RECEIVER_PATH}`, hmacKey: secrets.sign(sampleId, 'sample-receiver') }
}

/** Whether a URL is that of the receiver under another address, which the server had before. */
export function isFormerReceiver(url: string, current: string) {
  return url !== current && URL.parse(url)?.pathname.endsWith(OWN_RECEIVER_PATH) === true
}
