import { statusContract } from '../../contract/status';

statusContract('the embedded log', () => ({}));
