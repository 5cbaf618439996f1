import { type Html, html, htmlPage, raw } from '../../../http/html-page.ts'
import type { ApiResponse } from '../../../http/responses.ts'
import type { SignInMethods } from '../sessions/sign-in-settings.ts'
import { type AuthorizeRequest, authorizeQuery } from './request.ts'

type PageOptions = { status?: number; error?: string; headers?: Record<string, string> }
type SignInOptions = PageOptions & { username?: string }

/** The sign-in page. Like the other pages it uses URLs relative to `/oauth/`, which work below the path of a proxy. */
export function signInPage(
  request: AuthorizeRequest,
  methods: SignInMethods,
  options: SignInOptions = {},
): ApiResponse {
  return page('Sign in', options, [
    html`<h1>Sign in</h1>
      <p class="dim">to let Terraform on this computer use Groundstate</p>`,
    errorNote(options.error),
    methods.password ? passwordForm(request, options.username) : html``,
    methods.sso ? ssoLink(request, methods.sso) : html``,
  ])
}

function ssoLink(request: AuthorizeRequest, { name, url }: NonNullable<SignInMethods['sso']>) {
  const query = new URLSearchParams({ return_to: `/oauth/authorize?${authorizeQuery(request)}` })
  return html`<p class="row"><a class="button" href="..${url}?${query.toString()}">Sign in with ${name}</a></p>`
}

function passwordForm(request: AuthorizeRequest, username: string | undefined) {
  return html`<form method="post" action="sign-in">
    ${queryField(request)}
    <label for="username">Username or e-mail address</label>
    <input
      id="username"
      name="username"
      autocomplete="username"
      autocapitalize="none"
      spellcheck="false"
      required
      value="${username ?? ''}"
      ${username === undefined ? raw('autofocus') : ''}
    />
    <label for="password">Password</label>
    <input
      id="password"
      name="password"
      type="password"
      autocomplete="current-password"
      required
      ${username === undefined ? '' : raw('autofocus')}
    />
    <div class="row"><button class="main">Sign in</button></div>
  </form>`
}

/** The page for a two-factor code. `pending` is the proof of the password from `startSignIn`. */
export function codePage(request: AuthorizeRequest, pending: string, options: PageOptions = {}): ApiResponse {
  return page('Enter a code', options, [
    html`<h1>Enter a code</h1>
      <p class="dim">from your authenticator, or one of your recovery codes</p>`,
    errorNote(options.error),
    html`<form method="post" action="sign-in">
      ${queryField(request)}
      <input type="hidden" name="pending" value="${pending}" />
      <label for="otp">Code</label>
      <input
        id="otp"
        name="otp"
        autocomplete="one-time-code"
        autocapitalize="none"
        spellcheck="false"
        required
        autofocus
      />
      <div class="row"><button class="main">Continue</button></div>
    </form>`,
  ])
}

type Consent = { username: string; avatar: string; csrf: string }

export function consentPage(request: AuthorizeRequest, { username, avatar, csrf }: Consent): ApiResponse {
  // The form-action policy applies to the redirect after the form too.
  const target = new URL(request.redirectUri).origin
  return page('Allow Terraform', { formTarget: target }, [
    html`<h1>Allow Terraform to use your account?</h1>
      <p class="dim">A command on this computer (${new URL(request.redirectUri).host}) requests an API token.</p>
      <div class="who"><img src="${avatar}" width="40" height="40" alt="" /> <strong>${username}</strong></div>
      <p>Anyone with the token can:</p>
      <ul>
        <li>do everything in Groundstate that you can do</li>
        <li>keep doing it until you delete the token <em>terraform login</em> in your account’s settings</li>
      </ul>
      <p class="dim">Allow this only if you have just run <code>terraform login</code> or <code>tofu login</code>.</p>
      <form method="post" action="authorize">
        ${queryField(request)}
        <input type="hidden" name="csrf" value="${csrf}" />
        <div class="row">
          <button name="decision" value="deny">Deny</button>
          <button class="main" name="decision" value="approve">Allow</button>
        </div>
      </form>
      <form method="post" action="sign-out">
        ${queryField(request)}
        <input type="hidden" name="csrf" value="${csrf}" />
        <div class="row"><button class="link">Use another account</button></div>
      </form>`,
  ])
}

type NextLink = { text: string; url: string }

export function refusalPage(error: { status: number; title: string; detail: string }, next?: NextLink): ApiResponse {
  const { status, title, detail } = error
  return page(title, { status }, [
    html`<h1>${title}</h1>
      <p class="error" role="alert">${detail}</p>`,
    next
      ? html`<p class="row"><a class="button" href="${next.url}">${next.text}</a></p>`
      : html`<p class="dim">Run <code>terraform login</code> again.</p>`,
  ])
}

function errorNote(error: string | undefined) {
  return error === undefined ? html`` : html`<p class="error" role="alert">${error}</p>`
}

function queryField(request: AuthorizeRequest) {
  return html`<input type="hidden" name="query" value="${authorizeQuery(request)}" />`
}

function page(title: string, options: PageOptions & { formTarget?: string }, parts: readonly Html[]): ApiResponse {
  const { status = 200, headers, formTarget } = options
  return htmlPage(
    { title, parts },
    { status, headers: { 'cache-control': 'no-store', ...headers }, ...(formTarget !== undefined && { formTarget }) },
  )
}

export function sentence(text: string) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
