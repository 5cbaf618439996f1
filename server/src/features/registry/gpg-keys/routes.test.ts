import { randomBytes } from 'node:crypto'
import { PacketList, PublicKeyPacket, armor, enums, generateKey } from 'openpgp'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

async function add(armored: string) {
  const attributes = { namespace: acme.name, 'ascii-armor': armored }
  const body = { data: { type: 'gpg-keys', attributes } }
  return app.request({ method: 'POST', url: '/api/registry/private/v2/gpg-keys', token: owner.token, body })
}

/** A random integer of OpenPGP, not zero in its first and last bit. */
function integer(bits: number) {
  const bytes = randomBytes(bits / 8)
  bytes[0]! |= 0x80
  bytes[bytes.length - 1]! |= 1
  return bytes
}

test('a null byte in a user id is replaced', async () => {
  const { publicKey } = await generateKey({ userIDs: [{ name: 'Ac\0me' }], format: 'object' })

  const added = await add(publicKey.armor())

  expect(added.status).toBe(201)
  expect(added.json().data.attributes['user-ids']).toEqual(['Ac\u{FFFD}me'])
})

test('two keys in a text are rejected', async () => {
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async (name) => generateKey({ userIDs: [{ name }], format: 'object' })),
  )

  const refused = await add(`${one!.publicKey.armor()}\n${two!.publicKey.armor()}`)

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].detail).toBe('ASCII armor is invalid: it has 2 keys; it must have one')
})

test('a DSA key whose verification would take minutes is rejected', async () => {
  const key = new PublicKeyPacket()
  Object.assign(key, {
    created: new Date('2026-01-01'),
    algorithm: enums.publicKey.dsa,
    publicParams: { p: integer(4096), q: integer(256), g: integer(4088), y: integer(4088) },
  })
  const packets = new PacketList<PublicKeyPacket>()
  packets.push(key)

  const refused = await add(armor(enums.armor.publicKey, packets.write()))

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0]).toMatchObject({
    detail: expect.stringContaining('a DSA key may have up to 3072 bits'),
    source: { pointer: '/data/attributes/ascii-armor' },
  })
})
