import { z } from 'zod'
import { plainBody, relationshipsOf, requestBody, toOne } from './json-api.ts'
import { PASSWORD_MIN } from './limits.ts'
import { type Written, linkedResource, linksToMany, nullable, resource } from './responses.ts'

/** Usernames appear in URLs, and never look like an e-mail address, since both can be used to sign in. */
export const username = z
  .string()
  .min(1, "Username can't be blank")
  .max(60, 'Username is too long (maximum is 60 characters)')
  .regex(/^[A-Za-z0-9._-]+$/, 'Username may only contain letters, numbers, dots, underscores and hyphens')
  .refine((name) => !/^api-/i.test(name), 'Username may not start with api-, as those of service accounts do')

/** A new password. The upper bound limits the cost of hashing. */
export const newPassword = z
  .string()
  .min(PASSWORD_MIN, `Password is too short (minimum is ${PASSWORD_MIN} characters)`)
  .max(200, 'Password is too long (maximum is 200 characters)')

export const enteredPassword = z.string().max(1000)

const userInput = z.object({ username, email: z.email().max(254), password: newPassword, 'is-admin': z.boolean() })

export const updateAccountBody = requestBody('users', userInput.pick({ username: true, email: true }).partial())
export type UpdateAccount = z.infer<typeof updateAccountBody>['data']['attributes']

/** The public API spells these attributes with underscores, unlike all others. */
export const changePasswordBody = requestBody(
  'users',
  z
    .object({
      current_password: enteredPassword,
      password: newPassword,
      password_confirmation: enteredPassword.optional(),
    })
    .refine((body) => body.password_confirmation === undefined || body.password_confirmation === body.password, {
      path: ['password_confirmation'],
      error: "the confirmation doesn't match the password",
    }),
)
export type ChangePassword = z.infer<typeof changePasswordBody>['data']['attributes']

/** Changing two-factor authentication requires the password again, in case someone else is using the browser. */
export const confirmPasswordBody = plainBody('users', z.object({ password: enteredPassword }))
export const verifyTwoFactorBody = plainBody('users', z.object({ otp: z.string().max(100) }))
export const confirmTwoFactorBody = plainBody(
  'users',
  z.object({ password: enteredPassword, otp: z.string().max(100) }),
)
export type ConfirmTwoFactor = z.infer<typeof confirmTwoFactorBody>['data']['attributes']

export const createUserBody = plainBody(
  'users',
  userInput.extend({ password: newPassword.optional(), 'is-admin': z.boolean().default(false) }),
)
export type CreateUser = z.infer<typeof createUserBody>['data']['attributes']

export const updateUserBody = plainBody('users', userInput.partial())
export type UpdateUser = z.infer<typeof updateUserBody>['data']['attributes']

export const organizationPlan = z.enum(['free', 'standard', 'unlimited'])
export const updateOrganizationPlanBody = plainBody(
  'organizations',
  z.object({
    plan: organizationPlan.optional(),
    'run-concurrency': z
      .int()
      .min(1)
      .max(100_000)
      .nullish()
      .describe("our own: maximum number of the organization's jobs that run concurrently; null for no limit"),
  }),
)

/** Clients send the name of a feature set; each of ours is a plan of the organization. */
export const subscribeBody = z.object({
  data: z.object({ relationships: relationshipsOf(z.object({ 'feature-set': toOne('feature-sets') })) }),
})

const authMethod = z
  .enum(['password', 'sso', 'token'])
  .describe('how the account signs in: with a password, through single sign-on, or with API tokens only')

export const userPermissions = z.strictObject({
  'can-create-organizations': z.boolean(),
  'can-change-email': z.boolean(),
  'can-change-username': z.boolean(),
})

export const userAttributes = {
  username: z.string(),
  'is-service-account': z.boolean().describe("true for a team's service account"),
  'auth-method': authMethod,
  'avatar-url': z.string().describe('URL of an image; needs no authentication'),
  'v2-only': z.boolean().describe('always false'),
}

export const userTokensRelation = { 'authentication-tokens': linksToMany('authentication-tokens') }

export const userSchema = linkedResource('users', {
  attributes: { ...userAttributes, permissions: userPermissions },
  relationships: userTokensRelation,
})
export type UserResource = Written<typeof userSchema>

const memberAttributes = {
  ...userAttributes,
  email: nullable.string.describe('the address of the membership; null when the caller may not see it'),
  permissions: userPermissions,
}

/** The user included with a membership. */
export const memberUserSchema = linkedResource('users', {
  name: 'MemberUser',
  attributes: memberAttributes,
  relationships: userTokensRelation,
})

/** A user who was invited to an organization and has no account yet. */
export const invitedUserSchema = resource('users', {
  name: 'InvitedUser',
  attributes: { ...memberAttributes, username: z.null(), 'avatar-url': z.null() },
})
export type InvitedUserResource = Written<typeof invitedUserSchema>
