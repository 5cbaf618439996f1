import { Terminal } from 'lucide-react'
import { apiPath } from '../api/client.ts'
import { Button } from './button.tsx'
import { copyText, shellQuoted } from './copy.tsx'
import { toast } from './overlay-hosts.tsx'

/** Copies the request that reads the shown resource: `path="/projects/prj-1"`. The token stays a variable of the shell. */
export function CopyCurl({ path }: { path: string }) {
  async function copy() {
    await copyText(curlCommand(new URL(apiPath(path), document.baseURI).href))
    toast({ text: 'Copied. Set GROUNDSTATE_TOKEN to one of your API tokens.' })
  }
  return <Button kind="quiet" icon={Terminal} label="Copy as curl" onClick={() => void copy()} />
}

/** `type` and `data` describe the body; `data` may be `@file`. A public operation needs no token. */
type CurlOptions = { method?: string; type?: string; data?: string; isPublic?: boolean }

export function curlCommand(url: string, { method = 'GET', type, data, isPublic = false }: CurlOptions = {}) {
  return [
    // -g: curl would expand the brackets of page[size].
    method === 'GET' ? 'curl -g' : `curl -g --request ${method}`,
    ...(isPublic ? [] : ['--header "Authorization: Bearer $GROUNDSTATE_TOKEN"']),
    ...(type === undefined ? [] : [`--header 'Content-Type: ${type}'`]),
    ...(data === undefined ? [] : [`--data-binary ${shellQuoted(data)}`]),
    `'${url.replaceAll("'", '%27')}'`,
  ].join(data === undefined ? ' ' : ' \\\n  ')
}
