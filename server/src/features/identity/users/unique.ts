import { isUniqueViolation } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'

/** Awaits a change of an account. Throws `invalid` when its username or e-mail address belongs to another account. */
export async function checkUnique<T>(change: Promise<T>) {
  try {
    return await change
  } catch (error) {
    if (isUniqueViolation(error, 'users_username_key'))
      throw invalid('Username has already been taken', '/data/attributes/username')
    if (isUniqueViolation(error, 'users_email_key'))
      throw invalid('Email has already been taken', '/data/attributes/email')
    throw error
  }
}
