import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import type { Db } from '../../../db/db.ts'
import { newId } from '../../../ids.ts'
import { StartError } from '../../../start-error.ts'
import { findUserByLogin } from '../users/store.ts'
import * as store from './store.ts'

/**
 * Creates an API token of an account directly in the database and returns its text. It checks no permission, since the
 * caller has access to the database anyway. Throws a `StartError` when there is no such account.
 */
export async function createTokenOnCommandLine(
  db: Db,
  input: { username: string; description: string; expiresAt: Date | undefined },
) {
  const user = await findUserByLogin(db, input.username)
  if (!user) throw new StartError(`there is no account with the name or e-mail address ${input.username}`)
  if (user.suspended_at) throw new StartError(`the account ${user.username} is suspended`)
  const text = newTokenText()
  await store.insertToken(db, {
    id: newId('at'),
    kind: 'user',
    hash: tokenHash(text),
    user_id: user.id,
    description: input.description,
    created_by_user_id: user.id,
    created_at: new Date(),
    expires_at: input.expiresAt ?? null,
  })
  return text
}
