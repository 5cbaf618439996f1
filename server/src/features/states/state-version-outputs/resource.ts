import type { StateVersionOutputResource } from '@groundstate/contract/state-version-outputs'
import { API_PREFIX } from '../../../http/http.ts'
import type { Output } from './service.ts'

/** `value` is null where a sensitive one is withheld. */
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
