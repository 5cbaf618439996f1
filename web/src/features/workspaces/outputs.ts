import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { stateVersionOutputSchema } from '@groundstate/contract/state-version-outputs'
import { useMutation, useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

export type Output = Wire<typeof stateVersionOutputSchema>

/** The outputs of the current state. Values that are sensitive are withheld. */
export function useCurrentOutputs(workspaceId: string) {
  return useQuery({
    queryKey: ['outputs', workspaceId],
    queryFn: async () =>
      (
        await get<PageOnWire<typeof stateVersionOutputSchema>>(
          `/workspaces/${workspaceId}/current-state-version-outputs`,
        )
      ).data,
  })
}

/** Reads the value of one sensitive output. It is kept by what shows it, and nowhere else. */
export function useRevealedOutput() {
  return useMutation({
    gcTime: 0,
    mutationFn: async (id: string) =>
      (await get<DocumentOnWire<typeof stateVersionOutputSchema>>(`/state-version-outputs/${id}`)).data.attributes
        .value,
  })
}
