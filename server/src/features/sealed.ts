import { sealedMail } from '../mail/mail.ts'
import { sealedDigestKey } from '../secrets/mark.ts'
import type { SealedColumn, SealedJobProperty } from '../secrets/sealed.ts'
import { sealedResetRequest } from './identity/password-resets/service.ts'
import { sealedSignInSecret } from './identity/sessions/sign-in-settings.ts'
import { sealedTwoFactorSecret } from './identity/sessions/two-factor.ts'
import { sealedToken, sealedUrl } from './notifications/notification-configurations/target.ts'
import { sealedTrialResult, sealedTrialSettings } from './organizations/sso/trials.ts'
import { sealedPolicyWork } from './policies/policy-requests/policy-request.ts'
import { sealedParameter } from './policies/policy-set-parameters/service.ts'
import { sealedRemoval } from './repositories/webhooks/jobs.ts'
import { sealedPrivateKey } from './runs/identity-keys/signing.ts'
import { sealedTrialRules } from './runs/policy-trials/rules.ts'
import { sealedReviewToken } from './site/samples/review.ts'
import { sealedDiff } from './states/state-version-diffs/service.ts'
import { sealedStateContent } from './states/state-versions/content.ts'
import { sealedOutputValue } from './states/state-versions/sealed-outputs.ts'
import { sealedHmacKey } from './tasks/run-tasks/receiver.ts'
import { sealedContent, sealedRequest, sealedResponse } from './tasks/task-requests/task-request.ts'
import { sealedAccessToken } from './tasks/task-results/deliver.ts'
import { sealedClientSecret, sealedTokenColumns } from './vcs/oauth-clients/service.ts'
import { sealedWebhookSecret } from './vcs/repositories/service.ts'
import { sealedSshKey } from './vcs/ssh-keys/service.ts'
import { sealedVariable } from './workspaces/variables/service.ts'

/** The columns with sealed bytes, which replacing the secret seals again. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  sealedAccessToken,
  ...Object.values(sealedTokenColumns),
  sealedClientSecret,
  sealedContent,
  sealedDiff,
  sealedDigestKey,
  sealedHmacKey,
  sealedOutputValue,
  sealedParameter,
  sealedPolicyWork,
  sealedPrivateKey,
  sealedRequest,
  sealedResponse,
  sealedSignInSecret,
  sealedSshKey,
  sealedStateContent,
  sealedToken,
  sealedTrialResult,
  sealedTrialRules,
  sealedTrialSettings,
  sealedTwoFactorSecret,
  sealedUrl,
  sealedVariable,
  sealedWebhookSecret,
]

/** Properties of waiting jobs that are sealed, too. */
export const SEALED_JOB_PROPERTIES: readonly SealedJobProperty[] = [
  sealedMail,
  sealedRemoval,
  sealedResetRequest,
  sealedReviewToken,
]
