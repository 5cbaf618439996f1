import { Terminal } from 'lucide-react'
import { apiPath } from '../api/client.ts'
import { Button } from './button.tsx'
import { copyText } from './copy.tsx'
import { toast } from './overlay-hosts.tsx'

/** Copies the request that reads the shown resource: `path="/projects/prj-1"`. The token stays a variable of the shell. */
export function CopyCurl({ path }: { path: string }) {
  async function copy() {
    await copyText(curlCommand(new URL(apiPath(path), document.baseURI).href))
    toast({ text: 'Copied. Set GROUNDSTATE_TOKEN to one of your API tokens.' })
  }
  return <Button kind="quiet" icon={Terminal} label="Copy as curl" onClick={() => void copy()} />
}

export function curlCommand(url: string) {
  // -g: curl would expand the brackets of page[size].
  return `curl -g --header "Authorization: Bearer $GROUNDSTATE_TOKEN" '${url.replaceAll("'", '%27')}'`
}
