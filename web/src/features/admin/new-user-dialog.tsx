import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button, buttonClass } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import {
  CODE_INPUT,
  CheckField,
  FormErrors,
  RadioField,
  TextField,
  fieldError,
  formValues,
} from '../../components/form.tsx'
import { useLeaveDialog } from '../../components/links.tsx'
import { useSignInMethods } from '../session/session.ts'
import { PasswordLink } from './password-link.tsx'
import { useCreateUser } from './users.ts'

export default function NewUserDialog({ onClose }: { onClose: () => void }) {
  const create = useCreateUser()
  const leave = useLeaveDialog(onClose)
  const { data: methods } = useSignInMethods()
  const [first, setFirst] = useState<'link' | 'password'>('link')
  const isSso = methods?.sso != null

  function submit(form: HTMLFormElement) {
    const { username = '', email = '', password = '', admin } = formValues(form)
    create.mutate({
      username: username.trim(),
      email: email.trim(),
      'is-admin': admin !== undefined,
      ...(first === 'password' && { password }),
    })
  }

  if (create.data) {
    const { data: user, included } = create.data
    const reset = included?.[0]
    return (
      <Dialog
        title={`${user.attributes.username} was created`}
        about={
          reset
            ? 'Send them this link to set a password.'
            : first === 'password'
              ? undefined
              : 'They sign in with your identity provider.'
        }
        isOpen
        onClose={onClose}
        hasSecret={reset !== undefined}
        footer={
          <>
            <Link to="/app/admin/users/$user" params={{ user: user.id }} onClick={leave} className={buttonClass()}>
              Open user
            </Link>
            <Button label="Done" kind="primary" onClick={onClose} />
          </>
        }
      >
        {reset ? <PasswordLink reset={reset} /> : <p>Add them to an organization or a team next.</p>}
      </Dialog>
    )
  }
  return (
    <FormDialog
      title="New user"
      about="Their address counts as confirmed and accepts open invitations."
      action="Create user"
      isPending={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Username"
        name="username"
        required
        autoFocus
        error={fieldError(create.error, 'username')}
        {...CODE_INPUT}
      />
      <TextField label="Email" name="email" type="email" required error={fieldError(create.error, 'email')} />
      <RadioField
        label="First sign-in"
        name="first"
        value={first}
        onChange={(value) => setFirst(value === 'password' ? 'password' : 'link')}
        options={[
          isSso
            ? { value: 'link', text: methods.sso?.name ?? '', about: 'With the identity provider of this server.' }
            : {
                value: 'link',
                text: 'One-time link',
                about: 'They set a password with a link that works for 24 hours.',
              },
          {
            value: 'password',
            text: 'Password',
            about: 'You set a password and tell them.',
            reason: methods?.password === false ? 'Sign-in with a password is disabled on this server.' : undefined,
          },
        ]}
      />
      {first === 'password' && (
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          required
          error={fieldError(create.error, 'password')}
        />
      )}
      <CheckField
        label="Administrator"
        name="admin"
        hint="Administers accounts, organizations and sign-in of the whole server."
      />
      <FormErrors error={create.error} names={['username', 'email', 'password']} />
    </FormDialog>
  )
}
