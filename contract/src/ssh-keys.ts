import { z } from 'zod'
import { optionalId, requestBody } from './json-api.ts'
import { type Written, linkedResource } from './responses.ts'

/** Maximum length of a private key, in characters: an RSA key of 16384 bits has about 13,000. */
const MAX_KEY_CHARACTERS = 32_768

/**
 * A private key in PEM or OpenSSH format, without a passphrase. Keys are pasted: carriage returns are dropped, and the final line break
 * that `ssh` requires is added.
 */
export const privateKey = z
  .string()
  .max(MAX_KEY_CHARACTERS, `at most ${MAX_KEY_CHARACTERS} characters`)
  .transform((text) => `${text.replaceAll('\r', '').trim()}\n`)
  .pipe(
    z
      .string()
      .regex(
        /^-----BEGIN (?:[A-Z0-9]+ )?PRIVATE KEY-----\n[\s\S]+\n-----END (?:[A-Z0-9]+ )?PRIVATE KEY-----\n$/,
        'it must be a private key, from -----BEGIN … PRIVATE KEY----- to -----END … PRIVATE KEY-----',
      )
      .refine((text) => !text.includes('ENCRYPTED'), 'it has a passphrase: create a key without one'),
  )

const name = z.string().trim().min(1, "Name can't be blank").max(255, 'at most 255 characters')
const attributes = z.object({ name, value: privateKey })

export const createSshKeyBody = requestBody('ssh-keys', attributes)
export type CreateSshKey = z.infer<typeof createSshKeyBody>['data']

export const updateSshKeyBody = requestBody('ssh-keys', attributes.partial())
export type UpdateSshKey = z.infer<typeof updateSshKeyBody>['data']

/** A key without its value, which nobody can read again. */
export const sshKeySchema = linkedResource('ssh-keys', { attributes: { name: z.string() } })
export type SshKeyResource = Written<typeof sshKeySchema>

/** Assigns a key to a workspace by its id, or removes it: null, or the empty id that clients send. */
export const assignSshKeyBody = requestBody('workspaces', z.object({ id: optionalId }))
