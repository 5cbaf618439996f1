import { refuseTakenName } from '../../../db/taken-name.ts'

/** Runs a change that sets the name of a set. Throws `invalid` when the owner has another set of that name. */
export async function refuseTakenSetName<T>(work: () => Promise<T>) {
  return refuseTakenName({ constraint: 'variable_sets_name_key' }, work)
}
