import type { StateVersionOutputResource, WorkspaceOutputResource } from '@groundstate/contract/state-version-outputs'
import { API_PREFIX } from '../../../http/http.ts'
import type { Output } from '../state-versions/sealed-outputs.ts'

/** With `withheld`, the value of a sensitive output is null. */
export function stateVersionOutputResource(
  output: Output,
  options: { withheld?: boolean } = {},
): StateVersionOutputResource {
  return {
    id: output.id,
    type: 'state-version-outputs',
    attributes: {
      name: output.name,
      sensitive: output.sensitive,
      type: output.type,
      value: options.withheld && output.sensitive ? null : output.value,
      'detailed-type': output.detailedType,
    },
    links: { self: `${API_PREFIX}/state-version-outputs/${output.id}` },
  }
}

/** An output of the current state as workspaces include it: the value of a sensitive one is withheld. */
export function workspaceOutputResource(output: Output): WorkspaceOutputResource {
  const { id, name, sensitive, type, value } = output
  return {
    id,
    type: 'workspace-outputs',
    attributes: { name, sensitive, 'output-type': type, value: sensitive ? null : value },
  }
}
