import type { UpdateWorkspaceTask } from '@groundstate/contract/run-tasks'

/** `stages` wins over the older `stage`, which clients may send along with it. */
export function givenStages(attributes: UpdateWorkspaceTask) {
  return attributes.stages ?? (attributes.stage && [attributes.stage])
}
