import { checkPage } from './page';
import { runChecks } from './results';

/** `npm run test:page`: only the dashboard's page. */
void runChecks('the page was looked at', (results, folder) => checkPage(folder, results));
