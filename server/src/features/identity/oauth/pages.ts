import { createHash } from 'node:crypto'
import type { Answer } from '../../../http/answers.ts'
import { type Html, html, raw } from '../../../http/html.ts'
import type { SignInMethods } from '../sessions/methods.ts'
import { type AuthorizeRequest, authorizeQuery } from './request.ts'

const STYLE = `
:root { color-scheme: light dark; --ink: #17212b; --dim: #5a6875; --line: #d5dde4; --paper: #fff; --ground: #f1f4f7;
  --accent: #1d5fd1; --on-accent: #fff; --bad: #a81f2d; --bad-ground: #fdecee }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --dim: #9aa8b5; --line: #344250; --paper: #18212a;
  --ground: #0e151c; --accent: #7aa8ff; --on-accent: #0b1b36; --bad: #ff9aa3; --bad-ground: #3a1a1f } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px; background: var(--ground);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif }
main { width: 100%; max-width: 420px; background: var(--paper); border: 1px solid var(--line); border-radius: 14px;
  padding: 32px }
.brand { margin: 0 0 24px; font-weight: 650; letter-spacing: .01em; color: var(--dim) }
h1 { margin: 0 0 8px; font-size: 1.375rem; line-height: 1.25 }
p { margin: 0 0 16px }
.dim { color: var(--dim) }
.error { padding: 10px 12px; border-radius: 8px; background: var(--bad-ground); color: var(--bad) }
label { display: block; margin: 0 0 4px; font-weight: 550 }
input { width: 100%; margin: 0 0 16px; padding: 10px 12px; font: inherit; color: inherit; background: transparent;
  border: 1px solid var(--line); border-radius: 8px }
ul { margin: 0 0 16px; padding-left: 20px }
.who { display: flex; align-items: center; gap: 12px; margin: 0 0 16px; padding: 12px; border: 1px solid var(--line);
  border-radius: 10px; overflow-wrap: anywhere }
.who img { border-radius: 8px; flex: none }
.row { display: flex; gap: 12px; margin: 24px 0 0 }
button { flex: 1; padding: 10px 16px; font: inherit; font-weight: 600; border-radius: 8px; cursor: pointer;
  border: 1px solid var(--line); background: transparent; color: inherit }
a.button { flex: 1; padding: 10px 16px; font-weight: 600; border-radius: 8px; text-align: center; text-decoration: none;
  border: 1px solid var(--line); color: inherit }
button.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent) }
button.link { flex: none; padding: 0; border: 0; color: var(--accent); font-weight: 550; text-decoration: underline }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
/** One string, since the hash covers every space between the tags. */
const STYLE_ELEMENT = { markup: `<style>${STYLE}</style>` }

export type PageOptions = { status?: number; error?: string; headers?: Record<string, string> }

/** Offers the ways to sign in. The request continues afterwards. */
export function signInPage(
  request: AuthorizeRequest,
  methods: SignInMethods,
  options: PageOptions & { username?: string } = {},
): Answer {
  return page('Sign in', options, [
    html`<h1>Sign in</h1>
      <p class="dim">to let Terraform on this computer use Groundstate</p>`,
    errorNote(options.error),
    methods.password ? passwordForm(request, options.username) : html``,
    methods.sso ? ssoLink(request, methods.sso) : html``,
  ])
}

function ssoLink(request: AuthorizeRequest, { name, url }: { name: string; url: string }) {
  const query = new URLSearchParams({ return_to: `/oauth/authorize?${authorizeQuery(request)}` })
  return html`<p class="row"><a class="button" href="${url}?${query.toString()}">Sign in with ${name}</a></p>`
}

function passwordForm(request: AuthorizeRequest, username: string | undefined) {
  return html`<form method="post" action="/oauth/sign-in">
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

/** Asks for a code of the second factor. `pending` is the proof of the password, as `startSignIn` returns it. */
export function codePage(request: AuthorizeRequest, pending: string, options: PageOptions = {}): Answer {
  return page('Enter a code', options, [
    html`<h1>Enter a code</h1>
      <p class="dim">from your authenticator, or one of your recovery codes</p>`,
    errorNote(options.error),
    html`<form method="post" action="/oauth/sign-in">
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

/** Shows what the user grants, and to whom. */
export function consentPage(
  request: AuthorizeRequest,
  { username, avatar, csrf }: { username: string; avatar: string; csrf: string },
): Answer {
  // The policy on a form's target applies to the redirect that answers the form, too.
  const target = new URL(request.redirectUri).origin
  return page('Allow Terraform', { formTarget: target }, [
    html`<h1>Allow Terraform to use your account?</h1>
      <p class="dim">A command on this computer (${new URL(request.redirectUri).host}) asks for an API token.</p>
      <div class="who"><img src="${avatar}" width="40" height="40" alt="" /> <strong>${username}</strong></div>
      <p>Whoever has the token can:</p>
      <ul>
        <li>do everything in Groundstate that you can do</li>
        <li>keep doing it until you delete the token <em>terraform login</em> in your account’s settings</li>
      </ul>
      <p class="dim">Allow this only if you have just run <code>terraform login</code> or <code>tofu login</code>.</p>
      <form method="post" action="/oauth/authorize">
        ${queryField(request)}
        <input type="hidden" name="csrf" value="${csrf}" />
        <div class="row">
          <button name="decision" value="deny">Deny</button>
          <button class="main" name="decision" value="approve">Allow</button>
        </div>
      </form>
      <form method="post" action="/oauth/sign-out">
        ${queryField(request)}
        <input type="hidden" name="csrf" value="${csrf}" />
        <div class="row"><button class="link">Use another account</button></div>
      </form>`,
  ])
}

export function refusalPage(
  status: number,
  title: string,
  detail: string,
  next?: { text: string; url: string },
): Answer {
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

function page(title: string, options: PageOptions & { formTarget?: string }, parts: readonly Html[]): Answer {
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Groundstate</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main>
          <p class="brand">Groundstate</p>
          ${parts}
        </main>
      </body>
    </html>`
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "img-src 'self'",
    `form-action 'self'${options.formTarget === undefined ? '' : ` ${options.formTarget}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  return {
    status: options.status ?? 200,
    headers: {
      'content-security-policy': policy.join('; '),
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      // Without a referrer the browser sends forms with the origin `null`, which our check of the origin refuses.
      'referrer-policy': 'same-origin',
      ...options.headers,
    },
    content: { type: 'text/html; charset=utf-8', data: document.markup },
  }
}
