import { z } from 'zod'
import { requestBody } from './json-api.ts'
import { type Written, linkedResource } from './responses.ts'

/** Maximum length of a private key, in characters: an RSA key of 16384 bits has about 13,000. */
const MAX_KEY_CHARACTERS = 32_768

const PRIVATE_KEY = /^-----BEGIN (?:[A-Z0-9]+ )?PRIVATE KEY-----\n[\s\S]+\n-----END (?:[A-Z0-9]+ )?PRIVATE KEY-----\n$/
/** A key in OpenSSH format begins with `openssh-key-v1`, and the name of its cipher, here in base64: `none` without a passphrase. */
const LOCKED = /-----b3BlbnNzaC1rZXktdjEA(?!AAAABG5vbmUA)/

/**
 * A private key in PEM or OpenSSH format, without a passphrase; `attribute` begins the message about any other text, which never has the text.
 * Keys are pasted: carriage returns are dropped, and the final line break that `ssh` requires is added.
 */
export function privateKey(attribute: string) {
  return keyText((text) => problemOfKey(text, attribute))
}

function problemOfKey(text: string, attribute: string) {
  if (!PRIVATE_KEY.test(text))
    return `${attribute} is invalid: it must be a private key, from -----BEGIN … PRIVATE KEY----- to -----END … PRIVATE KEY-----`
  const isLocked = text.includes('ENCRYPTED') || LOCKED.test(text.replaceAll(/\s/g, ''))
  return isLocked
    ? `${attribute} is invalid: it has a passphrase: remove it with ssh-keygen -p, or create a key without one`
    : undefined
}

function keyText(problemOf: (text: string) => string | undefined) {
  return z
    .string()
    .max(MAX_KEY_CHARACTERS, `at most ${MAX_KEY_CHARACTERS} characters`)
    .transform((text) => `${text.replaceAll('\r', '').trim()}\n`)
    .pipe(
      z.string().superRefine((text, { addIssue }) => {
        const message = problemOf(text)
        if (message !== undefined) addIssue({ code: 'custom', message })
      }),
    )
}

/** The public API takes any text. Only mistakes are rejected that cannot be meant: a public key, a part of a key, and a passphrase. */
const value = keyText((text) => {
  if (/^(?:ssh-|ecdsa-|sk-)/.test(text)) return 'value is invalid: it is a public key, not the private key'
  if (text.trim() === '') return "value can't be blank"
  return text.includes('-----') ? problemOfKey(text, 'value') : undefined
})

const name = z.string().trim().min(1, "Name can't be blank").max(255, 'at most 255 characters')
const attributes = z.object({ name, value })

export const createSshKeyBody = requestBody('ssh-keys', attributes)
export type CreateSshKey = z.infer<typeof createSshKeyBody>['data']

export const updateSshKeyBody = requestBody('ssh-keys', attributes.partial())
export type UpdateSshKey = z.infer<typeof updateSshKeyBody>['data']

/** A key without its value, which nobody can read again. */
export const sshKeySchema = linkedResource('ssh-keys', { attributes: { name: z.string() } })
export type SshKeyResource = Written<typeof sshKeySchema>

const assigned = z.string('it must be the id of an SSH key, or null to remove it').max(255).nullable()

/** Assigns a key to a workspace by its id, or removes it: null, or the empty id that clients send. */
export const assignSshKeyBody = requestBody('workspaces', z.object({ id: assigned }))
