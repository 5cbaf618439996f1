import { z } from 'zod'
import { SECRET_FORM, listedSecrets, ordinal, secretBytes } from './secret-file.ts'

/** A secret as text. */
export const oneSecret = z.string().refine((text) => secretBytes(text) !== undefined, `it must be ${SECRET_FORM}`)

/** Secrets separated by commas or white space. */
export const secretList = z.string().transform((text, context) => {
  const secrets = listedSecrets(text)
  for (const [index, secret] of secrets.entries())
    if (secretBytes(secret) === undefined) context.addIssue(`the ${ordinal(index + 1)} secret must be ${SECRET_FORM}`)
  return secrets
})
