import { createNotificationConfigurationBody } from '@groundstate/contract/notification-configurations'
import { expect, test } from 'vitest'
import { NEW_CONFIGURATION, configurationBody } from './configuration-form.ts'
import { offeredTriggers } from './triggers.ts'

const OFFERED = offeredTriggers('workspaces', [])

test('a new configuration has only the attributes of its destination', () => {
  const filled = {
    ...NEW_CONFIGURATION,
    name: ' ops ',
    url: ' https://example.com ',
    token: 'secret',
    addresses: 'a@example.com',
  }

  const slack = configurationBody(filled, filled, OFFERED, ['user-1'])
  const mail = configurationBody({ ...filled, type: 'email' }, { ...filled, type: 'email' }, OFFERED, ['user-1'])

  expect(slack).toEqual({
    attributes: {
      'destination-type': 'slack',
      name: 'ops',
      enabled: true,
      url: 'https://example.com',
      triggers: ['run:needs_attention', 'run:errored'],
    },
    userIds: undefined,
  })
  expect(mail.attributes).toMatchObject({ 'destination-type': 'email', 'email-addresses': ['a@example.com'] })
  expect(mail.attributes).not.toHaveProperty('url')
  expect(mail.userIds).toEqual(['user-1'])
})

test('the server accepts the body of each destination', () => {
  for (const type of ['slack', 'microsoft-teams', 'email', 'generic'] as const) {
    const values = { ...NEW_CONFIGURATION, type, name: 'ops', url: 'https://example.com', token: 'secret' }
    const { attributes } = configurationBody(values, values, OFFERED)

    const body = { data: { type: 'notification-configurations', attributes } }

    expect(createNotificationConfigurationBody.safeParse(body).error).toBeUndefined()
  }
})

test('of a change only what differs is sent, and the triggers as a whole', () => {
  const values = { ...NEW_CONFIGURATION, type: 'generic', 'run:completed': true } as const

  expect(configurationBody({ 'run:completed': true }, values, OFFERED).attributes).toEqual({
    triggers: ['run:needs_attention', 'run:completed', 'run:errored'],
  })
  expect(configurationBody({ isTokenRemoved: true }, values, OFFERED).attributes).toEqual({ token: null })
  expect(configurationBody({ token: '' }, values, OFFERED).attributes).toEqual({})
})

test('addresses are separated by any white space, commas and semicolons', () => {
  const values = {
    ...NEW_CONFIGURATION,
    type: 'email',
    addresses: 'a@example.com, b@example.com;\nc@example.com ',
  } as const

  expect(configurationBody({ addresses: values.addresses }, values, OFFERED).attributes).toEqual({
    'email-addresses': ['a@example.com', 'b@example.com', 'c@example.com'],
  })
})

test('triggers that the server does not raise are offered only while they are selected', () => {
  expect(OFFERED).not.toContain('assessment:drifted')
  expect(offeredTriggers('projects', ['assessment:drifted'])).toContain('assessment:drifted')
  expect(offeredTriggers('teams', [])).toEqual(['change_request:created'])
})
