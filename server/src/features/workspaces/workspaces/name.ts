import { refuseTakenName } from '../../../db/taken-name.ts'

/** Runs a change that sets the name of a workspace. Throws `invalid` when another one of the organization has it. */
export async function refuseTakenWorkspaceName<T>(name: string, work: () => Promise<T>) {
  return refuseTakenName(
    { constraint: 'workspaces_name_key', detail: `Name has already been taken: there is a workspace ${name}` },
    work,
  )
}
