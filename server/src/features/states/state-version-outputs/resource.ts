import type { StateVersionOutputResource, WorkspaceOutputResource } from '@groundstate/contract/state-version-outputs'
import { API_PREFIX } from '../../../http/http.ts'
import type { Output } from '../state-versions/sealed-outputs.ts'

/** With `withheld`, the value of a sensitive output is null. */
export function stateVersionOutputResource(
  { id, name, sensitive, type, value, detailedType }: Output,
  options: { withheld?: boolean } = {},
): StateVersionOutputResource {
  const shown = options.withheld && sensitive ? null : value
  return {
    id,
    type: 'state-version-outputs',
    attributes: { name, sensitive, type, value: shown, 'detailed-type': detailedType },
    links: { self: `${API_PREFIX}/state-version-outputs/${id}` },
  }
}

/** An output of the current state, included in a workspace; the value of a sensitive one is withheld. */
export function workspaceOutputResource(output: Output): WorkspaceOutputResource {
  const { id, name, sensitive, type, value } = output
  return {
    id,
    type: 'workspace-outputs',
    attributes: { name, sensitive, 'output-type': type, value: sensitive ? null : value },
  }
}
